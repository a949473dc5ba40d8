// Starts the workers of a command on several hosts, over ssh, and waits for them. On each host ssh
// starts this program's agent (agent.h), which starts the workers there. ssh must not ask for a
// password, and every host must have this program at the same path.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace gradwire::launch {

inline constexpr std::uint16_t kMasterPortDefault = 29500;

struct HostsOptions {
  std::vector<std::string> hosts = {};  // as ssh takes them; rank 0 is on the first
  std::size_t ranks_per_host = 1;
  std::string master_host = {};  // the name of the first host for the others; empty: as ssh has it
  std::uint16_t master_port = kMasterPortDefault;
  std::string ssh = "ssh";                  // a command and its options
  std::string program = {};                 // on every host; empty: where it is here
  std::string directory = {};               // on every host; empty: this process's
  std::vector<std::string> variables = {};  // NAME=VALUE for all workers
  std::vector<std::string> arguments = {};  // of every worker
  std::chrono::milliseconds grace{8000};    // for the other hosts, when one has failed
  std::function<bool()> wants_stop = {};    // polled
};

// "a,b" as a list. Throws UsageError for an empty name and for a host that is named twice.
std::vector<std::string> parse_hosts(std::string_view list);

// Throws UsageError for options that cannot work.
void check_hosts(const HostsOptions& options);

// Returns when all workers have succeeded. Throws UsageError for options that cannot work,
// WorkerFailed with the exit code of the first cause, and Stopped. Call it on the main thread.
void run_on_hosts(const HostsOptions& options);

// The answer of a host to `gradwire --version` in the working directory, asked over ssh.
struct HostAnswer {
  std::string host;
  bool is_reached = false;  // by ssh
  bool has_directory = true;
  std::string version;  // empty: there is no such program
  std::string problem;  // what ssh or the shell said, its last line
  double seconds = 0;   // until the answer
};
std::vector<HostAnswer> ask_hosts(const HostsOptions& options);

}  // namespace gradwire::launch
