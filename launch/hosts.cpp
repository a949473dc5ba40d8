#include "launch/hosts.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <sstream>

#include "gradwire/core/error.h"
#include "gradwire/core/usage_error.h"
#include "gradwire/version.h"
#include "launch/child_processes.h"
#include "launch/exit_codes.h"
#include "launch/remote_job.h"
#include "launch/stop_request.h"

namespace gradwire::launch {
namespace {

using namespace std::chrono_literals;
using Clock = ChildProcesses::Clock;

constexpr auto kStopLooks = 200ms;
constexpr auto kTimeToEnd = 25s;  // for agents whose stdin has ended
constexpr auto kAnswerTimeMax = 30s;
constexpr int kSshFailed = 255;
constexpr int kNoDirectory = 66;

// In single quotes, for the shell of a host.
std::string in_quotes(std::string_view text) {
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

std::string program_of(const HostsOptions& options) {
  return options.program.empty() ? std::filesystem::read_symlink("/proc/self/exe").string()
                                 : options.program;
}

// ssh's words: it asks nothing, and notices within 15 s that a host is gone.
ChildStart ssh_to(const std::string& host, const HostsOptions& options,
                  const std::string& command_there) {
  std::istringstream words(options.ssh);
  std::string command;
  words >> command;
  ChildStart child{.name = host,
                   .program = command,
                   .called = command,
                   .arguments = {},
                   .environment = environment_with({}),
                   .own_session = true};
  for (std::string word; words >> word;) child.arguments.push_back(word);
  for (std::string word : {"-oBatchMode=yes", "-oConnectTimeout=10", "-oServerAliveInterval=5",
                           "-oServerAliveCountMax=3", "-T"}) {
    child.arguments.push_back(std::move(word));
  }
  child.arguments.push_back(host);
  child.arguments.push_back(command_there);
  return child;
}

std::string directory_of(const HostsOptions& options) {
  return options.directory.empty() ? std::filesystem::current_path().string() : options.directory;
}

std::string host_name(const std::string& host) { return host.substr(host.find('@') + 1); }

std::string master_of(const HostsOptions& options) {
  if (!options.master_host.empty()) return options.master_host;
  const std::string first = host_name(options.hosts.front());
  if (options.hosts.size() > 1 && (first == "localhost" || first.starts_with("127."))) {
    throw UsageError(
        fmt::format("the other hosts cannot reach the first one as '{}': name it as "
                    "they see it, or give --master-addr",
                    first));
  }
  return first;
}

// An agent ends as its worker did; ssh itself ends with 255.
ChildFailure judge_host(const std::string& host, int status) {
  if (WIFSIGNALED(status)) return judge_worker("ssh to " + host, status);
  const int code = WEXITSTATUS(status);
  switch (code) {
    case kSshFailed:
      return {fmt::format("ssh to {} failed, or its connection ended; ssh says why above. Check "
                          "that 'ssh {} true' works without a password",
                          host, host),
              1, 3};
    case kExecFailed:
      return {fmt::format("{}: the program could not be started. Install gradwire there at the "
                          "same path, or give --program",
                          host),
              1, 3};
    case kLostPeer:
      return {fmt::format("{} lost a peer, which its message names", host), 1, 1};
    case kReported:
      return {"", code, 2};
    default:
      return {fmt::format("{} ended with exit code {}; its message is above", host, code), code,
              code > 128 ? 3 : 2};
  }
}

RemoteJob job_for(const HostsOptions& options, std::size_t index, std::uint64_t run_key) {
  return {.version = GRADWIRE_VERSION,
          .host = options.hosts[index],
          .directory = directory_of(options),
          .place = {.rank = index * options.ranks_per_host,
                    .size = options.hosts.size() * options.ranks_per_host,
                    .host_workers = options.ranks_per_host,
                    .master_host = master_of(options),
                    .master_port = options.master_port,
                    .run_key = run_key},
          .variables = options.variables,
          .arguments = options.arguments};
}

void write_text(int target, std::string_view text) {
  while (!text.empty()) {
    const auto written = write(target, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;  // ssh has ended, and how it ended is seen elsewhere
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

// A write to an ssh that has ended must not end this program.
class NoPipeSignal {
 public:
  NoPipeSignal() {
    struct sigaction ignore = {};
    ignore.sa_handler = [](int) {};
    sigaction(SIGPIPE, &ignore, &before_);
  }
  ~NoPipeSignal() { sigaction(SIGPIPE, &before_, nullptr); }
  NoPipeSignal(const NoPipeSignal&) = delete;
  NoPipeSignal& operator=(const NoPipeSignal&) = delete;

 private:
  struct sigaction before_ = {};
};

}  // namespace

std::vector<std::string> parse_hosts(std::string_view list) {
  std::vector<std::string> hosts;
  while (true) {
    const std::size_t comma = list.find(',');
    std::string host(list.substr(0, comma));
    if (host.empty() || host.starts_with('-') || host.find(' ') != std::string::npos ||
        host.ends_with('@')) {
      throw UsageError(
          fmt::format("'{}' is not the name of a host: give names as in "
                      "host1,host2,host3",
                      host));
    }
    if (std::ranges::find(hosts, host) != hosts.end()) {
      throw UsageError(
          fmt::format("{} is named twice: --ranks-per-host gives every host several "
                      "workers",
                      host));
    }
    hosts.push_back(std::move(host));
    if (comma == std::string_view::npos) return hosts;
    list.remove_prefix(comma + 1);
  }
}

void check_hosts(const HostsOptions& options) { master_of(options); }

void run_on_hosts(const HostsOptions& options) {
  const NoPipeSignal no_pipe_signal;
  const std::uint64_t run_key = make_run_key();
  std::vector<FileDescriptor> orders;
  ChildProcesses agents(judge_host);
  for (std::size_t i = 0; i < options.hosts.size(); ++i) {
    const RemoteJob job = job_for(options, i, run_key);
    Pipe pipe = make_pipe();
    ChildStart ssh = ssh_to(options.hosts[i], options,
                            fmt::format("exec {} agent", in_quotes(program_of(options))));
    ssh.in = pipe.read.number();
    agents.start(ssh);
    write_text(pipe.write.number(), write_job(job));
    orders.push_back(std::move(pipe.write));
  }
  while (agents.any_running() && !agents.failure()) {
    agents.wait(Clock::now() + kStopLooks);
    if (!options.wants_stop || !options.wants_stop() || !agents.note_stop_asked()) continue;
    for (const FileDescriptor& order : orders) write_text(order.number(), kStopLine);
  }
  if (agents.failure()) wait_for_all(agents, options.grace);
  // The end of its stdin makes an agent end its workers.
  orders.clear();
  wait_for_all(agents, kTimeToEnd);
  if (const auto& failure = agents.failure()) throw WorkerFailed(failure->text, failure->exit_code);
  if (agents.is_stopped()) throw Stopped("");
}

std::vector<HostAnswer> ask_hosts(const HostsOptions& options) {
  std::vector<HostAnswer> answers(options.hosts.size());
  std::vector<std::string> texts(options.hosts.size());
  std::vector<FileDescriptor> sources;
  const std::string question =
      fmt::format("cd {} 2>/dev/null || exit {}; exec {} --version </dev/null",
                  in_quotes(directory_of(options)), kNoDirectory, in_quotes(program_of(options)));
  const Clock::time_point start = Clock::now();
  ChildProcesses children([&](const std::string& host, int status) {
    const auto answer = std::ranges::find(answers, host, &HostAnswer::host);
    answer->is_reached = WIFEXITED(status) && WEXITSTATUS(status) != kSshFailed;
    answer->has_directory = !WIFEXITED(status) || WEXITSTATUS(status) != kNoDirectory;
    return ChildFailure{host, 1, 0};
  });
  for (std::size_t i = 0; i < options.hosts.size(); ++i) {
    answers[i].host = options.hosts[i];
    answers[i].is_reached = true;
    Pipe pipe = make_pipe();
    ChildStart ssh = ssh_to(options.hosts[i], options, question);
    ssh.out = ssh.err = pipe.write.number();
    children.start(ssh);
    sources.push_back(std::move(pipe.read));
  }
  const Clock::time_point until = start + kAnswerTimeMax;
  const auto is_open = [&] {
    return std::ranges::any_of(sources, [](const auto& each) { return each.number() >= 0; });
  };
  while ((is_open() || children.any_running()) && Clock::now() < until) {
    std::vector<ChildProcesses::Watched> watched;
    for (std::size_t i = 0; i < sources.size(); ++i) {
      watched.push_back({sources[i].number(), [&, i] {
                           char bytes[4096];
                           const auto count = read(sources[i].number(), bytes, sizeof(bytes));
                           if (count > 0) texts[i].append(bytes, static_cast<std::size_t>(count));
                           if (count > 0 || (count < 0 && errno == EINTR)) return;
                           sources[i].close();
                           answers[i].seconds =
                               std::chrono::duration<double>(Clock::now() - start).count();
                         }});
    }
    children.wait(until, watched);
  }
  for (std::size_t i = 0; i < answers.size(); ++i) {
    std::istringstream lines(texts[i]);
    for (std::string line; std::getline(lines, line);) {
      constexpr std::string_view kAnswer = "gradwire ";
      if (line.starts_with(kAnswer)) {
        answers[i].version = line.substr(kAnswer.size());
      } else if (!line.empty()) {
        answers[i].problem = line;
      }
    }
    if (sources[i].number() >= 0) {
      answers[i].is_reached = false;
      answers[i].problem = "no answer within 30 s";
    }
  }
  return answers;
}

}  // namespace gradwire::launch
