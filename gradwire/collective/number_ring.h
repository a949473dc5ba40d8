// NumberRing: sums of small whole numbers over all ranks. Sums travel from neighbour to neighbour,
// first until they are complete and then to everybody, packed in as many bits as a sum of so many
// ranks can need. Exact, and the same on all ranks.
//
// All ranks make the same rings and the same calls in the same order. For one thread at a time; the
// communicator must outlive it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "gradwire/collective/communicator.h"
#include "gradwire/collective/exchange.h"

namespace gradwire {

struct NumberRingCall {
  std::uint64_t step = 0;
  std::span<const std::uint8_t> widths = {};  // in bits, repeated over the numbers; the same on all
                                              // ranks, 0 to 8
  std::span<const std::uint32_t> numbers = {};  // number i is below 2^widths[i % widths.size()]
  std::span<std::uint32_t> sums = {};
  bool is_poison = false;  // this rank has met a NaN or an infinity: nobody may commit
};

class NumberRing {
 public:
  // Compares the arguments with all peers. Throws StartError.
  NumberRing(Communicator& communicator, const std::string& name, std::size_t numbers_max);
  ~NumberRing();

  // Waits until the sums are there. Throws PeerError.
  ExchangeReport run(const NumberRingCall& call);

  // About what a rank sends in a call, frames included: chunks are not all of the same length.
  static std::size_t bytes_sent(std::size_t numbers, std::span<const std::uint8_t> widths,
                                std::size_t ranks);

 private:
  class Ring;
  std::unique_ptr<Ring> ring_;
};

}  // namespace gradwire
