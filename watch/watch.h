// Watching runs from the command line: the page of runs on this machine, served until the user
// stops it; or a line on the terminal about runs that another watcher serves.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "console/console.h"
#include "watch/server.h"

namespace gradwire::watch {

inline constexpr std::uint16_t kPortUsual = 8470;

struct ServeOptions {
  std::vector<std::filesystem::path> directories;
  ServerOptions server = {.port = kPortUsual};
  bool json = false;
};

// Serves until `wants_stop`. An address that others can reach gets a random token, if it has none.
// Throws Error if it cannot listen.
void serve(ServeOptions options, const std::function<bool()>& wants_stop,
           const console::Console& console);

struct FollowOptions {
  std::string host;
  std::uint16_t port = 0;
  std::string token = {};
  bool json = false;  // one answer, and no more
};

// Until `wants_stop`, or until all runs have finished. Throws Error if nobody answers at first, or
// for a minute.
void follow(const FollowOptions& options, const std::function<bool()>& wants_stop,
            const console::Console& console);

}  // namespace gradwire::watch
