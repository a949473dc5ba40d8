// Starts the workers of a command as processes of this program on this machine, and waits for them.
//
// Each process gets RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT in its environment. Rank 0 has
// the command's stdout; the stdout of the others is stderr, which all share. When one fails, the
// others have some time to notice the lost peer and end by themselves. No worker outlives this
// process.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace gradwire::launch {

struct LaunchOptions {
  std::string program = "/proc/self/exe";
  std::vector<std::string> arguments = {};  // without the program's name
  std::size_t workers = 1;
  std::chrono::milliseconds grace{5000};  // for the others, when one has failed
  // True when the user wants the workers to stop. Polled; the request is passed on to the workers.
  std::function<bool()> wants_stop = {};
};

// Returns when all workers have succeeded. Throws an Error that names the rank that failed and how
// it ended, or Stopped if the workers ended because of wants_stop. Call it on the main thread: the
// workers end when the thread that started them ends.
void launch_workers(const LaunchOptions& options);

}  // namespace gradwire::launch
