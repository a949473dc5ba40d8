// The result of a comparison in one sentence, for the head of the page. Pure functions.
#pragma once

#include <span>
#include <string>

#include "report/page.h"
#include "report/rows.h"

namespace gradwire::report {

// "natural: 3.6 times fewer bytes than none, +0.12 points of accuracy, 3.1 times as fast at 100
// Mbit/s (predicted)". The first row is the baseline. Of the others, it names the fastest one whose
// quality is about as good as the baseline's, or else the fastest. Several seeds add the spread of
// the points. Empty without a comparison. The figures are those of the table.
std::string headline_of(std::span<const Run> runs, std::span<const Row> rows);

}  // namespace gradwire::report
