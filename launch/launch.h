// Starts a command's workers as processes of this program on this machine, and waits for them.
//
// Each gets RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT. Rank 0 has the command's stdout; what
// others write there goes to stderr, which all share. When one fails, the others get some time to
// end by themselves, as they do when they miss a peer. None outlives this process.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace gradwire::launch {

struct LaunchOptions {
  std::string program = "/proc/self/exe";
  std::vector<std::string> arguments = {};  // those behind the program's name
  std::size_t workers = 1;
  std::chrono::milliseconds grace{5000};  // for the others, when one has failed
  // Somebody wants the workers to stop: looked at after every signal, and passed on to them.
  std::function<bool()> wants_stop = {};
};

// Returns when all have ended well; otherwise throws an Error that says which rank ended how, or
// Stopped where they ended because somebody wanted them to. Call it on the main thread: the workers
// end when the thread that started them does.
void launch_workers(const LaunchOptions& options);

}  // namespace gradwire::launch
