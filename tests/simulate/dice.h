// All chance of a simulation comes from one seed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gradwire::simulate {

// A bijection of 64-bit numbers that leaves no pattern (SplitMix64).
constexpr std::uint64_t scramble(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : state_(scramble(seed)) {}

  std::uint64_t next() { return scramble(state_++); }
  std::size_t below(std::size_t limit) { return static_cast<std::size_t>(next() % limit); }
  std::int64_t between(std::int64_t least, std::int64_t most) {
    return least + static_cast<std::int64_t>(next() % static_cast<std::uint64_t>(most - least + 1));
  }
  bool percent(unsigned chance) { return next() % 100 < chance; }
  template <class T>
  const T& pick(const std::vector<T>& from) {
    return from[below(from.size())];
  }

 private:
  std::uint64_t state_;
};

}  // namespace gradwire::simulate
