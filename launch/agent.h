// The agent of `gradwire run` on one host: starts the workers of the job that it reads from stdin,
// and passes on what they write. Rank 0's stdout stays as it is; all other lines go to stderr with
// the rank in front. The workers are asked to stop when stdin says so or ends, as it does when the
// connection ends; those that still run some seconds later are killed.
#pragma once

namespace gradwire::launch {

// The exit code of the process: that of the worker that is the first cause, or kStopped. Call it on
// the main thread.
int run_agent();

}  // namespace gradwire::launch
