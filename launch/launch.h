// Starts the workers of a command as processes of this program on this machine, and waits for them.
//
// Each process gets RANK, WORLD_SIZE, MASTER_ADDR and the like in its environment. Rank 0 has
// the command's stdout; the stdout of the others is stderr, which all share. When one fails, the
// others have some time to notice the lost peer and end by themselves. No worker outlives this
// process.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "gradwire/core/error.h"

namespace gradwire::launch {

// A worker ended with an error: the message names the rank that is the first cause.
class WorkerFailed : public Error {
 public:
  WorkerFailed(const std::string& message, int exit_code) : Error(message), exit_code_(exit_code) {}

  // That of the worker; 128 and the signal's number if a signal ended it, as in shells.
  int exit_code() const { return exit_code_; }

 private:
  int exit_code_;
};

// The place of one worker among all, for its environment.
struct WorkerPlace {
  std::size_t rank = 0;
  std::size_t size = 1;
  std::size_t host_workers = 1;  // that share its host
  std::string master_host;
  std::uint16_t master_port = 0;
  std::uint64_t run_key = 0;
};

// NAME=VALUE for each variable that tells a worker its place.
std::vector<std::string> worker_variables(const WorkerPlace& place);

// A random number other than 0.
std::uint64_t make_run_key();

struct LaunchOptions {
  std::string program = "/proc/self/exe";
  std::vector<std::string> arguments = {};  // without the program's name
  std::size_t workers = 1;
  std::chrono::milliseconds grace{5000};  // for the others, when one has failed
  // True when the user wants the workers to stop. Polled; the request is passed on to the workers.
  std::function<bool()> wants_stop = {};
};

// Returns when all workers have succeeded. Throws WorkerFailed, or Stopped if the workers ended
// because of wants_stop. Call it on the main thread: the workers end when the thread that started
// them ends.
void launch_workers(const LaunchOptions& options);

}  // namespace gradwire::launch
