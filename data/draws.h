// Random numbers one after the other, where what they make has no elements to address them by:
// shuffles, rejected draws. A pure function of the generator and of how many were drawn before.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <span>
#include <utility>

#include "gradwire/core/random.h"

namespace gradwire::data {

class Draws {
 public:
  explicit Draws(const Rng& rng) : stream_(rng.stream(0, 0)) {}

  // Above 0 and below 1.
  double uniform() { return (static_cast<double>(stream_.at(drawn_++)) + 0.5) * 0x1p-32; }

  // One of 0 to count - 1; count is above 0.
  std::size_t below(std::size_t count) {
    return static_cast<std::size_t>(uniform() * static_cast<double>(count));
  }

  // Standard normal, after Box and Muller.
  double normal() {
    const double radius = std::sqrt(-2 * std::log(uniform()));
    return radius * std::cos(2 * std::numbers::pi * uniform());
  }

  template <class T>
  void shuffle(std::span<T> values) {
    for (std::size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[below(i)]);
  }

 private:
  RandomStream stream_;
  std::uint32_t drawn_ = 0;
};

}  // namespace gradwire::data
