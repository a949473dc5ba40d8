// A set of ranks of one view. A value without allocations.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace gradwire::membership {

inline constexpr std::size_t kMembersMax = 256;

class RankSet {
 public:
  static constexpr std::size_t kWords = kMembersMax / 64;

  // The ranks 0 to count - 1.
  static constexpr RankSet first(std::size_t count) {
    RankSet set;
    for (std::size_t rank = 0; rank < count; ++rank) set.add(rank);
    return set;
  }

  // Ranks beyond the limit are in no set.
  constexpr void add(std::size_t rank) {
    if (rank < kMembersMax) words_[rank / 64] |= std::uint64_t{1} << (rank % 64);
  }
  constexpr void remove(std::size_t rank) {
    if (rank < kMembersMax) words_[rank / 64] &= ~(std::uint64_t{1} << (rank % 64));
  }
  constexpr bool has(std::size_t rank) const {
    return rank < kMembersMax && (words_[rank / 64] >> (rank % 64) & 1) != 0;
  }
  constexpr std::size_t count() const {
    std::size_t count = 0;
    for (const std::uint64_t word : words_) count += static_cast<std::size_t>(std::popcount(word));
    return count;
  }
  constexpr bool empty() const { return *this == RankSet{}; }
  constexpr bool includes(const RankSet& other) const { return (*this | other) == *this; }

  friend constexpr RankSet operator|(RankSet a, const RankSet& b) {
    for (std::size_t i = 0; i < kWords; ++i) a.words_[i] |= b.words_[i];
    return a;
  }
  friend constexpr RankSet operator&(RankSet a, const RankSet& b) {
    for (std::size_t i = 0; i < kWords; ++i) a.words_[i] &= b.words_[i];
    return a;
  }
  constexpr bool operator==(const RankSet&) const = default;

  const std::array<std::uint64_t, kWords>& words() const { return words_; }
  std::array<std::uint64_t, kWords>& words() { return words_; }

 private:
  std::array<std::uint64_t, kWords> words_{};
};

}  // namespace gradwire::membership
