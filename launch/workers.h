// Runs the workers of a command that are in this process: all of them as threads, or just one whose
// peers are other processes. Each gets a communicator of its own, which is closed in order when its
// work is done.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "gradwire/collective/communicator.h"
#include "launch/placement.h"
#include "launch/worker_options.h"

namespace gradwire::launch {

struct WorkersOptions {
  Placement placement;
  std::string interface = {};                     // of the network, for Gloo; empty: found out
  std::chrono::milliseconds peer_timeout{60000};  // also the longest wait for ranks at the start
  std::uint64_t seed = 0;
};

// From a command's options.
WorkersOptions workers_options(const WorkerOptions& given, const Placement& placement,
                               std::uint64_t seed);

// What one worker does, on a thread of its own. A worker that throws ends the others, too.
using Work = std::function<void(Communicator&)>;

// Returns when all workers of this process are done. If some failed, throws what the first of them
// threw. The placement is not that of a starter.
void run_workers(const WorkersOptions& options, const Work& work);

}  // namespace gradwire::launch
