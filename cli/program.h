// The program gradwire without its main(): takes the arguments apart, runs the command that they
// name, and turns everything that fails into a message and an exit code. Lets no exception out.
#pragma once

#include <string>
#include <vector>

#include "cli/console.h"

namespace gradwire::cli {

inline constexpr int kDone = 0;
inline constexpr int kFailed = 1;
inline constexpr int kLostPeer =
    75;  // only of processes that launch.h started, and only it sees it

// Set, to anything, for processes that launch.h started.
inline constexpr const char* kWorkerVariable = "GRADWIRE_WORKER";

inline constexpr int kWrongUsage = 2;

// The arguments are those behind the program's name.
int run_program(std::vector<std::string> arguments, const Console& console);

}  // namespace gradwire::cli
