// The arguments of a call, so that another process can be called with them. Pure functions.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace gradwire::cli {

// The arguments that were given to a command, with its name and those of the commands above it: a
// process called with them does the same.
std::vector<std::string> given_arguments(const CLI::App& command);

}  // namespace gradwire::cli
