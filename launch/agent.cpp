#include "launch/agent.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <list>
#include <string>

#include "gradwire/version.h"
#include "launch/child_processes.h"
#include "launch/exit_codes.h"
#include "launch/line_relay.h"
#include "launch/remote_job.h"

namespace gradwire::launch {
namespace {

using namespace std::chrono_literals;
using Clock = ChildProcesses::Clock;

constexpr auto kGrace = 5s;          // for the others, when one has failed
constexpr auto kTimeToStop = 20s;    // for a checkpoint, when the connection has ended
constexpr auto kTimeAfterTerm = 2s;  // for the others, when they did not end after a failure

bool read_stdin(char* memory, std::size_t bytes) {
  while (bytes > 0) {
    const auto count = read(STDIN_FILENO, memory, bytes);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    memory += count;
    bytes -= static_cast<std::size_t>(count);
  }
  return true;
}

int refuse(const std::string& host, const std::string& why) {
  fmt::print(stderr, "[{}] gradwire: {}\n", host, why);
  return 1;
}

class Agent {
 public:
  explicit Agent(const RemoteJob& job) : job_(job), workers_(judge_worker) {
    null_.write.close();  // the workers' stdin has ended
  }

  int run() {
    for (std::size_t i = 0; i < job_.place.host_workers; ++i) start_worker(i);
    while (workers_.any_running() && !workers_.failure() && !is_over()) wait(until_);
    if (workers_.failure()) {
      wait_for_others(kGrace);
      workers_.send(SIGTERM);
      wait_for_others(kTimeAfterTerm);
    }
    const bool ends_for_others = !workers_.failure() && workers_.any_running();
    workers_.send(SIGKILL);
    wait_for_others(kTimeAfterTerm);
    for (LineRelay& relay : relays_) relay.finish();
    if (ends_for_others) return kLostPeer;  // the cause is elsewhere
    if (const auto& failure = workers_.failure()) {
      if (failure->exit_code != kLostPeer && failure->exit_code != kReported) {
        fmt::print(stderr, "[{}] gradwire: {}\n", job_.host, failure->text);
      }
      return failure->exit_code;
    }
    return workers_.is_stopped() ? kStopped : 0;
  }

 private:
  void start_worker(std::size_t index) {
    WorkerPlace place = job_.place;
    place.rank += index;
    std::vector<std::string> variables = worker_variables(place);
    variables.push_back(fmt::format("LOCAL_RANK={}", index));
    variables.insert(variables.end(), job_.variables.begin(), job_.variables.end());
    Pipe out = make_pipe();
    Pipe err = make_pipe();
    workers_.start({.name = fmt::format("rank {}", place.rank),
                    .program = "/proc/self/exe",
                    .arguments = job_.arguments,
                    .environment = environment_with(std::move(variables)),
                    .in = null_.read.number(),
                    .out = out.write.number(),
                    .err = err.write.number()});
    const std::string label = fmt::format("[{}] ", place.rank);
    const bool is_first = place.rank == 0;
    relays_.emplace_back(std::move(out.read), is_first ? STDOUT_FILENO : STDERR_FILENO,
                         is_first ? "" : label);
    relays_.emplace_back(std::move(err.read), STDERR_FILENO, label);
  }

  bool is_over() const { return until_ && Clock::now() >= *until_; }

  void wait_for_others(std::chrono::milliseconds time_max) {
    const Clock::time_point until = Clock::now() + time_max;
    while (workers_.any_running() && Clock::now() < until) wait(until);
  }

  void wait(std::optional<Clock::time_point> until) {
    std::vector<ChildProcesses::Watched> watched;
    if (!is_alone_) watched.push_back({STDIN_FILENO, [this] { read_orders(); }});
    for (LineRelay& relay : relays_) {
      watched.push_back({relay.descriptor(), [&relay] { relay.pass_on(); }});
    }
    workers_.wait(until, watched);
  }

  void read_orders() {
    char bytes[64];
    const auto count = read(STDIN_FILENO, bytes, sizeof(bytes));
    if (count < 0 && errno == EINTR) return;
    if (count <= 0) {  // whoever started this run is gone, or cannot be reached any more
      is_alone_ = true;
      until_ = Clock::now() + kTimeToStop;
    }
    if (workers_.note_stop_asked()) workers_.send(SIGTERM);
  }

  const RemoteJob& job_;
  Pipe null_ = make_pipe();
  ChildProcesses workers_;
  std::list<LineRelay> relays_;
  bool is_alone_ = false;
  std::optional<Clock::time_point> until_;  // when the workers are killed
};

}  // namespace

int run_agent() {
  const auto job = read_job(read_stdin);
  if (!job) {
    return refuse("agent", "this command is only for 'gradwire run', which starts it by ssh");
  }
  if (job->version != GRADWIRE_VERSION) {
    return refuse(job->host, fmt::format("this host has version {}, and the host of 'gradwire run' "
                                         "has {}: install the same version on all hosts",
                                         GRADWIRE_VERSION, job->version));
  }
  std::error_code failure;
  std::filesystem::current_path(job->directory, failure);
  if (failure) {
    return refuse(job->host,
                  fmt::format("cannot use the directory {}: {}. Create it on this host, or give "
                              "'gradwire run' another one with --chdir",
                              job->directory, failure.message()));
  }
  signal(SIGPIPE, [](int) {});  // workers do not inherit a handler
  return Agent(*job).run();
}

}  // namespace gradwire::launch
