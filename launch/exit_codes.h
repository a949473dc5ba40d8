// How a worker tells the process that started it why it ended. A contract between launch.h and the
// program.
#pragma once

namespace gradwire::launch {

inline constexpr int kStopped = 130;  // by Ctrl-C, as shells say it, with a checkpoint written
// Only of processes that launch.h started, and only launch.h sees it.
inline constexpr int kLostPeer = 75;
// The same for workers whose output has reported problems: nobody needs to add that they failed.
inline constexpr int kReported = 76;

// Set, to anything, in the environment of processes that launch.h started.
inline constexpr const char* kWorkerVariable = "GRADWIRE_WORKER";

}  // namespace gradwire::launch
