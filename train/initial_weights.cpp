#include "train/initial_weights.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "data/draws.h"
#include "gradwire/core/random.h"

namespace gradwire::train {

InitialWeights InitialWeights::constant(double value) { return {Kind::constant, value}; }

InitialWeights InitialWeights::normal(double deviation) { return {Kind::normal, deviation}; }

InitialWeights InitialWeights::before_relu(std::size_t inputs) {
  return {Kind::normal, std::sqrt(2 / static_cast<double>(inputs))};
}

InitialWeights InitialWeights::before_loss(std::size_t inputs) {
  return {Kind::uniform, 1 / std::sqrt(static_cast<double>(inputs))};
}

void draw_weights(std::string_view parameter, const InitialWeights& initial, std::uint64_t seed,
                  std::span<float> weights) {
  const Rng rng{.seed = seed,
                .tensor = Rng::tensor_id("weights of " + std::string(parameter)),
                .purpose = Purpose::data};
  data::Draws draws(rng.shared());
  std::ranges::generate(weights, [&] {
    switch (initial.kind) {
      case InitialWeights::Kind::constant:
        break;
      case InitialWeights::Kind::normal:
        return static_cast<float>(initial.scale * draws.normal());
      case InitialWeights::Kind::uniform:
        return static_cast<float>(initial.scale * (2 * draws.uniform() - 1));
    }
    return static_cast<float>(initial.scale);
  });
}

}  // namespace gradwire::train
