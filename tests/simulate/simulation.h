// One simulated run: 2 to 16 founders, at least ten faults, newcomers, and then quiet. Everything
// follows from the seed.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/simulate/process.h"

namespace gradwire::simulate {

struct Outcome {
  std::optional<std::string> violation;
  std::size_t founders = 0;
  std::size_t faults = 0;
  std::uint64_t steps = 0;  // that the run committed
  std::uint64_t views = 0;
  std::uint64_t events = 0;
  bool must_go_on = false;  // a quorum lived when the faults were over
  bool goes_on = false;     // it was still training at the end
};

using TraceLine = std::function<void(const std::string&)>;

Outcome simulate(std::uint64_t seed, const TraceLine& trace = {});

}  // namespace gradwire::simulate
