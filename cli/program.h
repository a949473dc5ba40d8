// The program gradwire without its main(): takes the arguments apart, runs the command that they
// name, and turns everything that fails into a message and an exit code. Lets no exception out.
#pragma once

#include <string>
#include <vector>

#include "cli/console.h"

namespace gradwire::cli {

inline constexpr int kDone = 0;
inline constexpr int kFailed = 1;
inline constexpr int kWrongUsage = 2;
inline constexpr int kStopped = 130;  // by Ctrl-C, as shells say it, with a checkpoint written
// Only of processes that launch.h started, and only it sees it.
inline constexpr int kLostPeer = 75;

// Set, to anything, for processes that launch.h started.
inline constexpr const char* kWorkerVariable = "GRADWIRE_WORKER";

// The arguments are those behind the program's name.
int run_program(std::vector<std::string> arguments, const Console& console);

}  // namespace gradwire::cli
