#include "gradwire/method/lgc/random_numbers.h"

#include <algorithm>

#include "gradwire/core/check.h"
#include "gradwire/core/random.h"

namespace gradwire {

void fill_random(std::uint64_t seed, std::uint64_t step, std::string_view what,
                 std::span<float> values) {
  const Rng rng{
      .seed = seed, .step = step, .tensor = Rng::tensor_id(what), .purpose = Purpose::data};
  const RandomStream random = rng.stream(0, 0);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto number = static_cast<std::int32_t>(random.at(static_cast<std::uint32_t>(i)));
    values[i] = static_cast<float>(number) * 0x1p-31F;
  }
}

std::size_t draw_window(std::uint64_t seed, std::uint64_t step, std::size_t some, std::size_t all) {
  GW_CHECK(some <= all);
  float draw = 0;
  fill_random(seed, step, "window of a code", std::span(&draw, 1));
  const double room = static_cast<double>(all - some + 1);
  return std::min(all - some, static_cast<std::size_t>(0.5 * (1 + double{draw}) * room));
}

}  // namespace gradwire
