// Runs the workers of a command that live in this process: all of them as threads, or one whose
// peers are other processes. Each worker has its own communicator, which is closed in order when
// its work is done.
#pragma once

#include <cstdint>
#include <functional>

#include "gradwire/collective/communicator.h"
#include "launch/placement.h"
#include "launch/worker_options.h"

namespace gradwire::launch {

// The work of one worker, on a thread of its own. A worker that throws ends the others, too.
using Work = std::function<void(Communicator&)>;

// Returns when all workers of this process are done. If some failed, throws what the first of them
// threw. The placement is not that of a starter. The seed helps to refuse workers of another run.
void run_workers(const WorkerOptions& options, const Placement& placement, std::uint64_t seed,
                 const Work& work);

}  // namespace gradwire::launch
