// For tests: processes that are started together and watched, such as the ranks of a group. They
// write to files, so that none ever waits for its reader. None outlives the group. For one thread:
// the processes end when the thread that started them does.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gradwire/core/check.h"
#include "gradwire/transport/tcp_store_server.h"

namespace gradwire {

class ProcessGroup {
 public:
  using Clock = std::chrono::steady_clock;

  ProcessGroup() {
    std::string path = std::filesystem::temp_directory_path() / "gradwire-processes-XXXXXX";
    GW_CHECK(mkdtemp(path.data()) != nullptr);
    directory_ = path;
  }
  ~ProcessGroup() {
    for (std::size_t i = 0; i < size(); ++i) send_signal(i, SIGKILL);
    for (const Process& process : processes_) {
      if (!process.ending) waitpid(process.id, nullptr, 0);
    }
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
  }
  ProcessGroup(const ProcessGroup&) = delete;
  ProcessGroup& operator=(const ProcessGroup&) = delete;

  // Starts the program arguments[0], which is found as a shell finds it, with this process's
  // environment and the variables "NAME=value" given.
  void start(const std::vector<std::string>& arguments,
             const std::vector<std::string>& variables = {}) {
    const ExecStrings words(arguments);
    ExecStrings assignments(variables);
    const std::string out = file("out", size()), err = file("err", size());
    processes_.reserve(size() + 1);  // nothing may throw between the fork and the list
    const pid_t parent = getpid();
    const pid_t child = fork();
    GW_CHECK(child >= 0);
    if (child == 0) become(words.get(), assignments.get(), out.c_str(), err.c_str(), parent);
    processes_.push_back({.id = child});
  }

  std::size_t size() const { return processes_.size(); }
  std::string out(std::size_t i) const { return content_of(file("out", i)); }
  std::string err(std::size_t i) const { return content_of(file("err", i)); }

  // To a process that still runs; to others nothing is sent.
  void send_signal(std::size_t i, int signal) {
    look();
    if (!processes_[i].ending) kill(processes_[i].id, signal);
  }

  // Looks again and again until is_so() or the time is over; returns is_so().
  template <class Predicate>
  bool wait_until(std::chrono::milliseconds time_max, Predicate is_so) {
    const Clock::time_point end = Clock::now() + time_max;
    for (;;) {
      look();
      if (is_so()) return true;
      if (Clock::now() >= end) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }

  bool wait_for_end(std::size_t i, std::chrono::milliseconds time_max) {
    return wait_until(time_max, [&] { return has_ended(i); });
  }
  bool wait_for_all(std::chrono::milliseconds time_max) {
    return wait_until(time_max, [&] {
      for (std::size_t i = 0; i < size(); ++i) {
        if (!has_ended(i)) return false;
      }
      return true;
    });
  }

  bool has_ended(std::size_t i) const { return processes_[i].ending.has_value(); }

  // Of one that has ended: its exit code, or 128 and the signal, as shells say it.
  int exit_code(std::size_t i) const {
    GW_CHECK(has_ended(i));
    const int status = processes_[i].ending->status;
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  }
  // When it was seen to have ended: a few milliseconds late at most, while somebody waits.
  Clock::time_point end_time(std::size_t i) const {
    GW_CHECK(has_ended(i));
    return processes_[i].ending->time;
  }

 private:
  struct Ending {
    int status;  // as waitpid says it
    Clock::time_point time;
  };
  struct Process {
    pid_t id;
    std::optional<Ending> ending = {};
  };

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

  // In the child. putenv is not on the list of what is safe after a fork, but it only moves
  // pointers of an environment that no other thread of a test changes.
  [[noreturn]] static void become(char* const* words, char* const* assignments, const char* out,
                                  const char* err, pid_t parent) {
    constexpr int kExecFailed = 127;  // as shells say it
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(kExecFailed);  // it went before that was set
    const int flags = O_CREAT | O_WRONLY | O_TRUNC | O_APPEND;
    dup2(open("/dev/null", O_RDONLY | O_CLOEXEC), STDIN_FILENO);
    dup2(open(out, flags | O_CLOEXEC, 0600), STDOUT_FILENO);
    dup2(open(err, flags | O_CLOEXEC, 0600), STDERR_FILENO);
    for (; *assignments != nullptr; ++assignments) putenv(*assignments);
    execvp(words[0], words);
    _exit(kExecFailed);
  }

  void look() {
    for (Process& process : processes_) {
      int status = 0;
      if (process.ending || waitpid(process.id, &status, WNOHANG) != process.id) continue;
      process.ending = {.status = status, .time = Clock::now()};
    }
  }

  std::string file(const char* what, std::size_t i) const {
    return directory_ / (what + std::to_string(i));
  }

  static std::string content_of(const std::string& path) {
    std::ifstream stream(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }

  std::filesystem::path directory_;
  std::vector<Process> processes_;
};

// A port that nobody listens on right now.
inline std::uint16_t free_port() { return TcpStoreServer(0).port(); }

// The variables that make a process one rank of a group over TCP.
inline std::vector<std::string> rank_variables(std::size_t rank, std::size_t size,
                                               const std::string& host, std::uint16_t port) {
  return {"RANK=" + std::to_string(rank), "WORLD_SIZE=" + std::to_string(size),
          "MASTER_ADDR=" + host, "MASTER_PORT=" + std::to_string(port)};
}

// Starts `ranks` over TCP on this machine. `arguments_of(rank)` gives its words; all of them get
// the variables "NAME=value".
template <class ArgumentsOf>
void start_tcp_ranks(ProcessGroup& group, std::size_t size, const ArgumentsOf& arguments_of,
                     const std::vector<std::string>& variables = {}) {
  const std::uint16_t port = free_port();
  for (std::size_t rank = 0; rank < size; ++rank) {
    std::vector<std::string> words = arguments_of(rank);
    words.insert(words.begin(), GRADWIRE_RANKS_PROGRAM);
    std::vector<std::string> all = rank_variables(rank, size, "127.0.0.1", port);
    all.insert(all.end(), variables.begin(), variables.end());
    group.start(words, all);
  }
}

// Starts `ranks` by mpirun, which is the group's one process and passes on what they write.
inline void start_mpi_ranks(ProcessGroup& group, std::size_t size,
                            const std::vector<std::string>& arguments) {
  const char* const sanitizer = std::getenv("ASAN_OPTIONS");
  std::vector<std::string> words = {"mpirun",
                                    "--allow-run-as-root",
                                    "--oversubscribe",
                                    "--bind-to",
                                    "none",
                                    "--mca",
                                    "mpi_yield_when_idle",
                                    "1",
                                    "-n",
                                    std::to_string(size),
                                    GRADWIRE_RANKS_PROGRAM};
  words.insert(words.end(), arguments.begin(), arguments.end());
  // Open MPI leaks; that is not ours to report.
  group.start(words,
              {std::string("ASAN_OPTIONS=") + (sanitizer ? sanitizer : "") + ":detect_leaks=0"});
}

// Whether a program of that name can be started.
inline bool has_program(const std::string& name) {
  ProcessGroup group;
  group.start({"sh", "-c", "command -v " + name});
  return group.wait_for_all(std::chrono::seconds(10)) && group.exit_code(0) == 0;
}

}  // namespace gradwire
