// The commands of the program `ranks`, one file each. They return the exit code.
#pragma once

#include <span>
#include <string>

namespace gradwire::ranks {

using Arguments = std::span<const std::string>;

// A process of a run whose processes come and go; elastic_command.cpp has the options.
int elastic_command(Arguments arguments);

// Runs exchanges until something goes wrong, or as many as it is told; fault_command.cpp has the
// options.
int fault_command(Arguments arguments);

// [--quick | --full]: runs the cases of identity.h. Rank 0 prints a line for each.
int identity_command(Arguments arguments);

// [--forever]: steps of methods on two hosts with two ranks each; levels_command.cpp has more.
int levels_command(Arguments arguments);

// Runs the transport scenarios that the arguments name, or all of them.
int transport_command(Arguments arguments);

}  // namespace gradwire::ranks
