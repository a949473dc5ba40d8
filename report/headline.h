// The result of a comparison in one sentence, for the head of the page. Pure functions.
#pragma once

#include <span>
#include <string>

#include "report/page.h"

namespace gradwire::report {

// "natural: 3.6 times fewer bytes than none, +0.12 points of accuracy, 3.1 times as fast at 100
// Mbit/s (predicted)". The first run is the baseline. Of the others, it names the fastest one whose
// quality is about as good as the baseline's, or else the fastest. Empty without a comparison.
std::string headline_of(std::span<const Run> runs);

}  // namespace gradwire::report
