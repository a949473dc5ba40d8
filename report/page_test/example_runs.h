// Runs that never were, for looking at pages: what a record can hold, with numbers that look real.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "report/page.h"

namespace gradwire::report {

// A network trained by seven methods, with test loss and accuracy now and then.
std::vector<Run> network_runs(std::uint64_t steps);

// Three methods with three seeds each.
std::vector<Run> seeds_runs();

// Convex runs: a gap, and no accuracy.
std::vector<Run> convex_runs();

// One run whose method adapts itself layer by layer.
std::vector<Run> adaptive_runs();

// One run whose method learns a code: full steps, then sparse ones, then coded ones of which every
// 50th sends exact values.
std::vector<Run> learned_runs(std::uint64_t steps);

// One run whose notes are of a kind without a picture of its own.
std::vector<Run> plain_runs();

// Names that try to be markup, losses that are no numbers, plans and notes on codes that are not as
// they should be.
std::vector<Run> hostile_runs();

// A run whose members come and go.
std::vector<Run> elastic_runs();
// A run that was recorded before its first step.
std::vector<Run> empty_runs();

}  // namespace gradwire::report
