#include "data/hold_out.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "data/draws.h"
#include "gradwire/core/check.h"

namespace gradwire::data {

HoldOut hold_out(std::size_t samples, std::uint64_t seed) {
  GW_CHECK(2 <= samples && samples <= std::numeric_limits<std::uint32_t>::max());
  std::vector<std::uint32_t> order(samples);
  std::iota(order.begin(), order.end(), 0u);
  Draws draws({.seed = seed, .tensor = Rng::tensor_id("hold out"), .purpose = Purpose::data});
  draws.shuffle(std::span(order));
  const auto cut =
      order.begin() + static_cast<std::ptrdiff_t>(std::max<std::size_t>(samples / 10, 1));
  HoldOut parts{.train = {cut, order.end()}, .test = {order.begin(), cut}};
  std::ranges::sort(parts.train);
  std::ranges::sort(parts.test);
  return parts;
}

}  // namespace gradwire::data
