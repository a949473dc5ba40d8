// Numbers that all ranks come to together: for records and benchmarks, and to see that the ranks
// are still the same. All ranks make the same calls at the same places. Throws PeerError.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "gradwire/collective/communicator.h"

namespace gradwire {

// Exact. As many numbers as were given.
std::vector<std::uint64_t> sum_over_ranks(Communicator& communicator,
                                          std::span<const std::uint64_t> own);

// Every rank's number, by rank.
std::vector<std::uint64_t> gather_from_ranks(Communicator& communicator, std::uint64_t own);

// Throws Error on all ranks, naming two that differ.
void check_same_on_all_ranks(Communicator& communicator, std::uint64_t number,
                             const std::string& what);

}  // namespace gradwire
