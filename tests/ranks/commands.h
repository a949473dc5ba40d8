// The commands of the program `ranks`, one file each. They return the exit code.
#pragma once

#include <span>
#include <string>

namespace gradwire::ranks {

using Arguments = std::span<const std::string>;

// Runs the transport scenarios that the arguments name, or all of them.
int transport_command(Arguments arguments);

}  // namespace gradwire::ranks
