// CountedRanks: the ranks whose messages are in a mean, where owners do not wait for late ranks. It
// travels behind the parcel of a frame of the mean; docs/wire_format.md has the bytes. Value type.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "gradwire/collective/parcel.h"
#include "gradwire/core/expected.h"

namespace gradwire {

class CountedRanks {
 public:
  CountedRanks() = default;
  explicit CountedRanks(std::size_t ranks) : is_counted_(ranks) {}

  std::size_t ranks() const { return is_counted_.size(); }
  bool has(std::size_t rank) const { return is_counted_[rank] != 0; }
  void add(std::size_t rank) { is_counted_[rank] = 1; }
  void clear();
  std::size_t count() const;

  static constexpr std::size_t bytes(std::size_t ranks) { return (ranks + 7) / 8; }
  // Writes bytes(ranks()) bytes.
  void write(std::span<std::byte> out) const;
  // Reads bytes(ranks()) bytes. Refuses ranks that do not exist, and a mean of nobody's messages.
  Decoded<void> read(std::span<const std::byte> in);

  bool operator==(const CountedRanks&) const = default;

 private:
  std::vector<std::uint8_t> is_counted_;  // by rank
};

// A parcel of that many pieces with counted ranks behind it: the payload of a frame of the mean.
// Sets `counted`, which says how many ranks there are.
Decoded<ParcelReader> open_counted_parcel(std::span<const std::byte> payload, std::size_t pieces,
                                          CountedRanks& counted);

}  // namespace gradwire
