// |x - y|^2, added up in a fixed order, without a vector of differences.
#pragma once

#include <algorithm>
#include <array>
#include <span>

#include "gradwire/kernel/block.h"
#include "gradwire/kernel/combine.h"
#include "gradwire/kernel/sums.h"

namespace gradwire {

inline double distance_squared(std::span<const float> x, std::span<const float> y) {
  std::array<float, kernel::kBlockElements> differences;
  double squares = 0;
  for (std::size_t i = 0; i < x.size(); i += differences.size()) {
    const auto part = std::span(differences).first(std::min(differences.size(), x.size() - i));
    kernel::combine(1, x.subspan(i, part.size()), -1, y.subspan(i, part.size()), part);
    squares += kernel::moments(part).squares;
  }
  return squares;
}

}  // namespace gradwire
