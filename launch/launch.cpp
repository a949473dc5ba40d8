#include "launch/launch.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <optional>
#include <random>
#include <string_view>
#include <utility>

#include "gradwire/core/error.h"
#include "launch/exit_codes.h"
#include "launch/placement.h"
#include "launch/stop_request.h"

namespace gradwire::launch {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kExecFailed = 127;  // as shells say it
constexpr auto kTimeAfterTerm = std::chrono::seconds(2);
constexpr auto kStopLooks = std::chrono::milliseconds(200);

[[noreturn]] void fail(std::string_view what) {
  throw Error(fmt::format("{}: {}", what, std::strerror(errno)));
}

class FileDescriptor {
 public:
  explicit FileDescriptor(int number) : number_(number) {}
  FileDescriptor(FileDescriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&&) = delete;
  ~FileDescriptor() {
    if (number_ >= 0) close(number_);
  }
  int number() const { return number_; }

 private:
  int number_;
};

// A port that nobody listens on right now. Somebody may take it before rank 0 does; the system
// hands out others first, so that is unlikely, and rank 0 then says so.
std::uint16_t free_port() {
  const FileDescriptor listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* const any_address = reinterpret_cast<sockaddr*>(&address);
  socklen_t bytes = sizeof(address);
  if (listener.number() < 0 || bind(listener.number(), any_address, bytes) != 0 ||
      getsockname(listener.number(), any_address, &bytes) != 0) {
    fail("cannot find a free port on 127.0.0.1");
  }
  return ntohs(address.sin_port);
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

// Not 0, which is none.
std::uint64_t make_run_key() {
  std::random_device random;
  return std::uniform_int_distribution<std::uint64_t>(1)(random);
}

// This process's environment with the worker's rank in it.
std::vector<std::string> worker_environment(std::size_t rank, std::size_t workers,
                                            std::uint16_t port, std::uint64_t run_key) {
  std::vector<std::string> variables = {fmt::format("RANK={}", rank),
                                        fmt::format("WORLD_SIZE={}", workers),
                                        "MASTER_ADDR=127.0.0.1",
                                        fmt::format("MASTER_PORT={}", port),
                                        fmt::format("{}={}", kRunKeyVariable, run_key),
                                        "TORCHELASTIC_USE_AGENT_STORE=False",
                                        fmt::format("{}=1", kWorkerVariable)};
  const auto is_set = [set = variables.size(), &variables](std::string_view name_and_value) {
    const std::string_view name = name_and_value.substr(0, name_and_value.find('=') + 1);
    return std::any_of(variables.begin(), variables.begin() + static_cast<std::ptrdiff_t>(set),
                       [&](const std::string& variable) { return variable.starts_with(name); });
  };
  for (char** variable = environ; *variable != nullptr; ++variable) {
    if (!is_set(*variable)) variables.emplace_back(*variable);
  }
  return variables;
}

// In the child, between fork and exec: only what is safe after a fork.
[[noreturn]] void become_worker(const char* program, char* const* arguments,
                                char* const* environment, std::size_t rank, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(kExecFailed);  // it went before that was set
  if (rank != 0) dup2(STDERR_FILENO, STDOUT_FILENO);
  execve(program, arguments, environment);
  constexpr std::string_view kMessage = "gradwire: cannot start this program again\n";
  [[maybe_unused]] const auto written = write(STDERR_FILENO, kMessage.data(), kMessage.size());
  _exit(kExecFailed);
}

// Not by <sys/pidfd.h>: that of glibc 2.36 cannot be used from C++.
FileDescriptor watch(pid_t process) {
  return FileDescriptor(static_cast<int>(syscall(SYS_pidfd_open, process, 0)));
}

// How a process ended, as waitpid says it.
std::string ending(int status) {
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    return fmt::format("was ended by signal {} ({})", signal, strsignal(signal));
  }
  if (WEXITSTATUS(status) == kLostPeer) return "lost a peer, which its message names";
  return fmt::format("ended with exit code {}", WEXITSTATUS(status));
}

// The processes that were started. Kills and reaps those that are left when it goes.
class Workers {
 public:
  Workers() = default;
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;
  ~Workers() {
    send(SIGKILL);
    for (const Worker& worker : workers_) {
      if (worker.running) waitpid(worker.process, nullptr, 0);
    }
  }

  void start(const LaunchOptions& options, std::uint16_t port) {
    const std::size_t rank = workers_.size();
    std::vector<std::string> words = options.arguments;
    words.insert(words.begin(), "gradwire");
    const ExecStrings arguments(std::move(words));
    const ExecStrings environment(worker_environment(rank, options.workers, port, run_key_));
    workers_.reserve(options.workers);  // nothing may throw between the fork and the list
    const pid_t parent = getpid();
    const pid_t process = fork();
    if (process < 0) fail(fmt::format("cannot start the process of rank {}", rank));
    if (process == 0) {
      become_worker(options.program.c_str(), arguments.get(), environment.get(), rank, parent);
    }
    workers_.push_back({.process = process, .handle = watch(process)});
    if (workers_.back().handle.number() < 0) fail("cannot watch a process");
  }

  bool any_running() const {
    return std::any_of(workers_.begin(), workers_.end(),
                       [](const Worker& worker) { return worker.running; });
  }

  void send(int signal) const {
    for (const Worker& worker : workers_) {
      if (worker.running) kill(worker.process, signal);
    }
  }

  // Waits until one ends or it is time, and reaps all that have ended.
  void wait(std::optional<Clock::time_point> until) {
    std::vector<pollfd> watched;
    for (const Worker& worker : workers_) {
      // A negative number is skipped.
      watched.push_back(
          {.fd = worker.running ? worker.handle.number() : -1, .events = POLLIN, .revents = 0});
    }
    int wait_ms = -1;
    if (until) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(*until - Clock::now());
      wait_ms = static_cast<int>(std::max<std::chrono::milliseconds::rep>(left.count(), 0));
    }
    if (poll(watched.data(), watched.size(), wait_ms) < 0 && errno != EINTR) {
      fail("cannot wait for the workers");
    }
    for (std::size_t rank = 0; rank < workers_.size(); ++rank) {
      Worker& worker = workers_[rank];
      int status = 0;
      if (!worker.running || waitpid(worker.process, &status, WNOHANG) != worker.process) continue;
      worker.running = false;
      note_ending(rank, status);
    }
  }

  // Asks them to end, once. From a terminal they have heard it already; twice does no harm.
  void stop() {
    if (!std::exchange(is_stop_asked_, true)) send(SIGTERM);
  }

  // They ended because the user asked for it.
  bool is_stopped() const { return is_stopped_ && !failure_; }

  // "rank 1 ended with exit code 1", if one has failed.
  const std::optional<std::string>& failure() const { return failure_; }

 private:
  struct Worker {
    pid_t process;
    FileDescriptor handle;  // readable when it has ended
    bool running = true;
  };

  // The cause may be seen after those that ended because of it: a signal explains more than an
  // error, and an error more than a peer that was lost. Among equals the first counts.
  void note_ending(std::size_t rank, int status) {
    if (status == 0) return;
    // A worker that had just begun ends by the signal itself.
    const bool is_ended = WIFSIGNALED(status) && is_stop_asked_ &&
                          (WTERMSIG(status) == SIGTERM || WTERMSIG(status) == SIGINT);
    if (is_ended || (WIFEXITED(status) && WEXITSTATUS(status) == kStopped)) {
      is_stopped_ = true;
      return;
    }
    const int weight = WIFSIGNALED(status) ? 3 : WEXITSTATUS(status) == kLostPeer ? 1 : 2;
    if (weight <= failure_weight_) return;
    failure_ = fmt::format("rank {} {}", rank, ending(status));
    failure_weight_ = weight;
  }

  const std::uint64_t run_key_ = make_run_key();
  std::vector<Worker> workers_;
  bool is_stop_asked_ = false;
  bool is_stopped_ = false;
  std::optional<std::string> failure_;
  int failure_weight_ = 0;
};

void wait_for_all(Workers& workers, std::chrono::milliseconds time_max) {
  const Clock::time_point until = Clock::now() + time_max;
  while (workers.any_running() && Clock::now() < until) workers.wait(until);
}

}  // namespace

void launch_workers(const LaunchOptions& options) {
  const std::uint16_t port = free_port();
  Workers workers;
  for (std::size_t rank = 0; rank < options.workers; ++rank) workers.start(options, port);
  while (workers.any_running() && !workers.failure()) {
    // A signal between two looks is seen at the next one.
    workers.wait(options.wants_stop ? std::optional(Clock::now() + kStopLooks) : std::nullopt);
    if (options.wants_stop && options.wants_stop()) workers.stop();
  }
  if (workers.is_stopped()) throw Stopped("");
  if (!workers.failure()) return;

  // The others should notice by themselves; those that do not are ended.
  wait_for_all(workers, options.grace);
  const std::string failure = *workers.failure();
  workers.send(SIGTERM);
  wait_for_all(workers, kTimeAfterTerm);
  throw Error(failure);
}

}  // namespace gradwire::launch
