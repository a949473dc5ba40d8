#include "launch/child_processes.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "gradwire/core/error.h"
#include "launch/exit_codes.h"

namespace gradwire::launch {
namespace {

[[noreturn]] void fail(std::string_view what) {
  throw Error(fmt::format("{}: {}", what, std::strerror(errno)));
}

// Strings as exec takes them: pointers, and a null pointer behind the last.
class ExecStrings {
 public:
  explicit ExecStrings(std::vector<std::string> strings) : strings_(std::move(strings)) {
    for (std::string& text : strings_) pointers_.push_back(text.data());
    pointers_.push_back(nullptr);
  }
  ExecStrings(const ExecStrings&) = delete;
  ExecStrings& operator=(const ExecStrings&) = delete;
  char* const* get() const { return pointers_.data(); }

 private:
  std::vector<std::string> strings_;
  std::vector<char*> pointers_;
};

[[noreturn]] void end_child(std::string_view message) {
  [[maybe_unused]] const auto written = write(STDERR_FILENO, message.data(), message.size());
  _exit(kExecFailed);
}

void use_as(int descriptor, int number) {
  if (descriptor >= 0) dup2(descriptor, number);
}

// In the child, between fork and exec: only what is safe after a fork.
[[noreturn]] void become_child(const ChildStart& child, char* const* arguments,
                               char* const* environment, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(kExecFailed);  // it went before that was set
  if (child.own_session) setsid();
  use_as(child.in, STDIN_FILENO);
  use_as(child.err, STDERR_FILENO);  // first: stdout may become the old stderr
  use_as(child.out, STDOUT_FILENO);
  if (!child.directory.empty() && chdir(child.directory.c_str()) != 0) {
    end_child("gradwire: cannot enter the directory of the workers\n");
  }
  execvpe(child.program.c_str(), arguments, environment);
  end_child("gradwire: cannot start this program again\n");
}

// <sys/pidfd.h> of glibc 2.36 cannot be used from C++.
FileDescriptor watch(pid_t process) {
  return FileDescriptor(static_cast<int>(syscall(SYS_pidfd_open, process, 0)));
}

}  // namespace

FileDescriptor::~FileDescriptor() { close(); }

void FileDescriptor::close() {
  if (number_ >= 0) ::close(std::exchange(number_, -1));
}

Pipe make_pipe() {
  int ends[2] = {-1, -1};
  if (pipe2(ends, O_CLOEXEC) != 0) fail("cannot make a pipe");
  return {FileDescriptor(ends[0]), FileDescriptor(ends[1])};
}

std::vector<std::string> environment_with(std::vector<std::string> set) {
  const std::size_t own = set.size();
  const auto is_set = [&](std::string_view name_and_value) {
    const std::string_view name = name_and_value.substr(0, name_and_value.find('=') + 1);
    return std::any_of(set.begin(), set.begin() + static_cast<std::ptrdiff_t>(own),
                       [&](const std::string& variable) { return variable.starts_with(name); });
  };
  for (char** variable = environ; *variable != nullptr; ++variable) {
    if (!is_set(*variable)) set.emplace_back(*variable);
  }
  return set;
}

ChildProcesses::~ChildProcesses() {
  send(SIGKILL);
  for (const Child& child : children_) {
    if (child.running) waitpid(child.process, nullptr, 0);
  }
}

void ChildProcesses::start(const ChildStart& child) {
  std::vector<std::string> words = child.arguments;
  words.insert(words.begin(), child.called);
  const ExecStrings arguments(std::move(words));
  const ExecStrings environment(child.environment);
  children_.reserve(children_.size() + 1);  // nothing may throw between the fork and the list
  std::string name = child.name;
  const pid_t parent = getpid();
  const pid_t process = fork();
  if (process < 0) fail(fmt::format("cannot start the process of {}", child.name));
  if (process == 0) become_child(child, arguments.get(), environment.get(), parent);
  children_.push_back({.name = std::move(name), .process = process, .handle = watch(process)});
  if (children_.back().handle.number() < 0) fail("cannot watch a process");
}

bool ChildProcesses::any_running() const { return std::ranges::any_of(children_, &Child::running); }

void ChildProcesses::send(int signal) const {
  for (const Child& child : children_) {
    if (child.running) kill(child.process, signal);
  }
}

void ChildProcesses::wait(std::optional<Clock::time_point> until,
                          std::span<const Watched> watched) {
  std::vector<pollfd> polled;
  for (const Watched& each : watched) {
    polled.push_back({.fd = each.descriptor, .events = POLLIN, .revents = 0});
  }
  for (const Child& child : children_) {
    // A negative number is skipped.
    polled.push_back(
        {.fd = child.running ? child.handle.number() : -1, .events = POLLIN, .revents = 0});
  }
  int wait_ms = -1;
  if (until) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(*until - Clock::now());
    wait_ms = static_cast<int>(std::max<std::chrono::milliseconds::rep>(left.count(), 0));
  }
  const int ready = poll(polled.data(), polled.size(), wait_ms);
  if (ready < 0 && errno != EINTR) fail("cannot wait for the workers");
  for (std::size_t i = 0; ready > 0 && i < watched.size(); ++i) {
    if (polled[i].revents != 0) watched[i].on_ready();
  }
  reap();
}

void ChildProcesses::reap() {
  for (Child& child : children_) {
    int status = 0;
    if (!child.running || waitpid(child.process, &status, WNOHANG) != child.process) continue;
    child.running = false;
    note_ending(child, status);
  }
}

void ChildProcesses::note_ending(const Child& child, int status) {
  if (status == 0) return;
  // A child that had just begun ends by the signal itself.
  const bool is_ended = WIFSIGNALED(status) && is_stop_asked_ &&
                        (WTERMSIG(status) == SIGTERM || WTERMSIG(status) == SIGINT);
  if (is_ended || (WIFEXITED(status) && WEXITSTATUS(status) == kStopped)) {
    is_stopped_ = true;
    return;
  }
  ChildFailure failure = judge_(child.name, status);
  if (!failure_ || failure.weight > failure_->weight) failure_ = std::move(failure);
}

void wait_for_all(ChildProcesses& children, std::chrono::milliseconds time_max,
                  std::span<const ChildProcesses::Watched> watched) {
  const auto until = ChildProcesses::Clock::now() + time_max;
  while (children.any_running() && ChildProcesses::Clock::now() < until) {
    children.wait(until, watched);
  }
}

ChildFailure judge_worker(const std::string& name, int status) {
  constexpr int kSignalBase = 128;  // as in shells
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    return {fmt::format("{} was ended by signal {} ({})", name, signal, strsignal(signal)),
            kSignalBase + signal, 3};
  }
  const int code = WEXITSTATUS(status);
  if (code == kReported) return {"", code, 2};
  if (code == kLostPeer) return {name + " lost a peer, which its message names", code, 1};
  return {fmt::format("{} ended with exit code {}", name, code), code, 2};
}

}  // namespace gradwire::launch
