// ChildProcesses: processes that this one has started: what they are called, whether they run, and
// which of them failed first. Kills and reaps those that are left when it goes. Children also end
// when the thread that started them ends. For one thread.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace gradwire::launch {

class FileDescriptor {
 public:
  explicit FileDescriptor(int number = -1) : number_(number) {}
  FileDescriptor(FileDescriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~FileDescriptor();
  int number() const { return number_; }
  void close();

 private:
  int number_;
};

// Both ends are closed in children, except for those that become a child's stdin, stdout or stderr.
struct Pipe {
  FileDescriptor read;
  FileDescriptor write;
};
Pipe make_pipe();

struct ChildStart {
  std::string name;                      // in messages: "rank 1", "host2"
  std::string program;                   // a path, or a name that PATH finds
  std::string called = "gradwire";       // its name for itself
  std::vector<std::string> arguments;    // behind that name
  std::vector<std::string> environment;  // NAME=VALUE
  std::string directory = {};            // empty: that of this process
  int in = -1, out = -1, err = -1;       // -1: those of this process
  bool own_session = false;              // Ctrl-C on the terminal does not reach it
};

// The variables of this process, with those in `set` added or replaced.
std::vector<std::string> environment_with(std::vector<std::string> set);

inline constexpr int kExecFailed = 127;  // as in shells

struct ChildFailure {
  std::string text;   // "rank 1 ended with exit code 1"
  int exit_code = 1;  // for the program that waits for it
  int weight = 0;     // the failure with the greatest weight is the cause; among equals, the first
};

class ChildProcesses {
 public:
  using Clock = std::chrono::steady_clock;
  // From a status as waitpid gives it, other than success.
  using Judge = std::function<ChildFailure(const std::string& name, int status)>;

  // A descriptor to look at while waiting. on_ready is called when it can be read or has ended.
  struct Watched {
    int descriptor = -1;
    std::function<void()> on_ready;
  };

  explicit ChildProcesses(Judge judge) : judge_(std::move(judge)) {}
  ChildProcesses(const ChildProcesses&) = delete;
  ChildProcesses& operator=(const ChildProcesses&) = delete;
  ~ChildProcesses();

  void start(const ChildStart& child);
  bool any_running() const;
  void send(int signal) const;

  // Waits until a child ends, a descriptor is ready or it is time. Reaps the children that ended.
  void wait(std::optional<Clock::time_point> until, std::span<const Watched> watched = {});

  // From now on, a child that ends by SIGTERM or SIGINT has not failed. True the first time.
  bool note_stop_asked() { return !std::exchange(is_stop_asked_, true); }

  // They ended because the user asked for it.
  bool is_stopped() const { return is_stopped_ && !failure_; }
  const std::optional<ChildFailure>& failure() const { return failure_; }

 private:
  struct Child {
    std::string name;
    pid_t process;
    FileDescriptor handle;  // readable when it has ended
    bool running = true;
  };

  void reap();
  void note_ending(const Child& child, int status);

  Judge judge_;
  std::vector<Child> children_;
  bool is_stop_asked_ = false;
  bool is_stopped_ = false;
  std::optional<ChildFailure> failure_;
};

// Waits for all children, but not longer than that.
void wait_for_all(ChildProcesses& children, std::chrono::milliseconds time_max,
                  std::span<const ChildProcesses::Watched> watched = {});

// How a worker ended: the signal explains more than an error, and an error more than a lost peer.
ChildFailure judge_worker(const std::string& name, int status);

}  // namespace gradwire::launch
