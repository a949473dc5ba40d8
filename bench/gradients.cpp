#include "bench/gradients.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>

namespace gradwire::bench {
namespace {

// What each stream of the generator is for.
enum Stage : std::uint32_t { kRadius, kAngle, kLayer, kRowRadius, kRowAngle, kRowDead };

constexpr float kLayerScaleMin = 1e-4F;
constexpr float kLayerScaleDecades = 3;
constexpr float kRowSpread = 0.5F;  // of a row's log scale: a kurtosis of 3 exp(4 * 0.5^2) = 8
constexpr float kDeadShare = 0.01F;

// In (0, 1]. The smallest numbers keep their distances, which the tails of normal values need.
float unit(std::uint32_t random) { return (static_cast<float>(random) + 0.5F) * 0x1p-32F; }

// A whole number in [least, most].
std::uint32_t whole(std::uint32_t random, std::uint32_t least, std::uint32_t most) {
  const std::uint64_t count = most - least + 1;
  return least + static_cast<std::uint32_t>(random * count >> 32);
}

// Box and Muller: two independent normal values from two uniform ones.
struct NormalPair {
  NormalPair(std::uint32_t radius_random, std::uint32_t angle_random) {
    const float radius = std::sqrt(-2 * std::log(unit(radius_random)));
    const float angle = 2 * std::numbers::pi_v<float> * unit(angle_random);
    first = radius * std::cos(angle);
    second = radius * std::sin(angle);
  }
  float first;
  float second;
};

// A layer's weights: one row a neuron, with a column for each input of a 3 x 3 convolution.
struct Layer {
  explicit Layer(const RandomStream& random, std::uint32_t index)
      : rows(std::size_t{1} << whole(random.at(3 * index), 4, 9)),
        columns(std::size_t{9} << whole(random.at(3 * index + 1), 2, 9)),
        scale(kLayerScaleMin *
              std::pow(10.0F, kLayerScaleDecades * unit(random.at(3 * index + 2)))) {}
  std::size_t rows;
  std::size_t columns;
  float scale;
};

// What the rows of all layers are multiplied with; rows are counted through.
class RowScales {
 public:
  explicit RowScales(const Rng& rng)
      : radius_(rng.stream(kRowRadius, 0)),
        angle_(rng.stream(kRowAngle, 0)),
        dead_(rng.stream(kRowDead, 0)) {}

  float at(std::uint32_t row) const {
    if (unit(dead_.at(row)) < kDeadShare) return 0;
    return std::exp(kRowSpread * NormalPair(radius_.at(row), angle_.at(row)).first);
  }

 private:
  RandomStream radius_;
  RandomStream angle_;
  RandomStream dead_;
};

}  // namespace

void fill_gaussian(const Rng& rng, std::span<float> values) {
  const RandomStream radius = rng.stream(kRadius, 0);
  const RandomStream angle = rng.stream(kAngle, 0);
  for (std::size_t i = 0; i < values.size(); i += 2) {
    const auto pair = static_cast<std::uint32_t>(i / 2);
    const NormalPair normal(radius.at(pair), angle.at(pair));
    values[i] = normal.first;
    if (i + 1 < values.size()) values[i + 1] = normal.second;
  }
}

void fill_gradients(const Rng& rng, std::span<float> values) {
  fill_gaussian(rng, values);
  const RandomStream layers = rng.stream(kLayer, 0);
  const RowScales row_scales(rng);
  std::uint32_t rows_before = 0;
  for (std::uint32_t index = 0; !values.empty(); ++index) {
    const Layer layer(layers, index);
    for (std::size_t row = 0; row < layer.rows && !values.empty(); ++row) {
      const float scale = layer.scale * row_scales.at(rows_before++);
      const std::size_t columns = std::min(layer.columns, values.size());
      for (float& value : values.first(columns)) value *= scale;
      values = values.subspan(columns);
    }
  }
}

}  // namespace gradwire::bench
