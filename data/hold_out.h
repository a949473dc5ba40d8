// Samples held out for tests, where data comes in one piece. A pure function.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gradwire::data {

struct HoldOut {
  std::vector<std::uint32_t> train;  // both rise
  std::vector<std::uint32_t> test;
};

// A tenth of the samples by chance, and at least one; there are at least two.
HoldOut hold_out(std::size_t samples, std::uint64_t seed);

}  // namespace gradwire::data
