// RemoteJob: the order to start workers on a host, as `gradwire run` sends it to its agent there,
// through the agent's stdin. Behind the job, a line "stop" asks the workers to stop, and the end of
// the stream ends them. Pure functions.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launch/launch.h"

namespace gradwire::launch {

struct RemoteJob {
  std::string version;                      // of the program that sends it
  std::string host;                         // the name that the user gave this host
  std::string directory;                    // where the workers run
  WorkerPlace place = {};                   // of the host's first worker
  std::vector<std::string> variables = {};  // NAME=VALUE, added to the host's environment
  std::vector<std::string> arguments = {};  // of every worker
};

inline constexpr std::string_view kStopLine = "stop\n";

std::string write_job(const RemoteJob& job);

// Nothing for bytes that are no job. `read` fills a span of memory, or returns false.
std::optional<RemoteJob> read_job(const std::function<bool(char*, std::size_t)>& read);

}  // namespace gradwire::launch
