#include "convex/generated.h"

#include <cmath>
#include <vector>

#include "data/draws.h"

namespace gradwire::convex {
namespace {

constexpr std::size_t kGroups = 10;
constexpr double kGroupSpread = 0.7;      // of the groups' centres; 1 is the spread within a group
constexpr double kFeatureScaleMin = 0.2;  // features differ in scale, up to 1
constexpr double kNoise = 0.5;

data::Draws draws_for(const GeneratedOptions& options, const char* what) {
  return data::Draws(
      {.seed = options.seed, .tensor = Rng::tensor_id(what), .purpose = Purpose::data});
}

std::vector<double> normal_values(data::Draws draws, std::size_t count, double scale) {
  std::vector<double> values(count);
  for (double& value : values) value = scale * draws.normal();
  return values;
}

data::SparseRows generate_rows(const GeneratedOptions& options) {
  const std::size_t features = options.features;
  const auto centres =
      normal_values(draws_for(options, "centres"), kGroups * features, kGroupSpread);
  data::Draws draws = draws_for(options, "rows");
  data::SparseRows rows;
  rows.features = features;
  for (std::size_t i = 0; i < options.rows; ++i) {
    const std::size_t group = i % kGroups;
    for (std::size_t j = 0; j < features; ++j) {
      const double scale =
          std::pow(kFeatureScaleMin, static_cast<double>(j) / static_cast<double>(features));
      rows.columns.push_back(static_cast<std::uint32_t>(j));
      rows.values.push_back(scale * (centres[group * features + j] + draws.normal()));
    }
    rows.end_row();
  }
  return rows;
}

}  // namespace

data::Dataset generate_numbers(const GeneratedOptions& options) {
  data::Dataset data{.rows = generate_rows(options), .labels = {}};
  const double scale = 1 / std::sqrt(static_cast<double>(options.features));
  const auto weights = normal_values(draws_for(options, "weights"), options.features, scale);
  data::Draws noise = draws_for(options, "noise");
  for (std::size_t i = 0; i < options.rows; ++i) {
    data.labels.push_back(dot(data.rows.row(i), weights) + kNoise * noise.normal());
  }
  return data;
}

data::Dataset generate_classes(const GeneratedOptions& options) {
  data::Dataset data = generate_numbers(options);
  for (double& label : data.labels) label = label > 0 ? 1 : -1;
  return data;
}

}  // namespace gradwire::convex
