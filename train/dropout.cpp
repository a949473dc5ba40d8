#include "train/dropout.h"

#include "gradwire/core/check.h"
#include "gradwire/core/random.h"

namespace gradwire::train {

void draw_dropout(const Draw& draw, std::uint64_t layer, double share, std::span<float> factors) {
  GW_CHECK(0 <= share && share <= kDropoutMax);
  const Rng rng{.seed = draw.seed,
                .step = draw.step,
                .tensor = layer,
                .rank = draw.rank,
                .purpose = Purpose::data};
  const RandomStream stream = rng.stream(draw.part, 0);
  const auto dropped_below = static_cast<std::uint32_t>(share * 0x1p32);
  const auto kept = static_cast<float>(1 / (1 - share));
  for (std::size_t i = 0; i < factors.size(); ++i) {
    factors[i] = stream.at(static_cast<std::uint32_t>(i)) < dropped_below ? 0.0F : kept;
  }
}

}  // namespace gradwire::train
