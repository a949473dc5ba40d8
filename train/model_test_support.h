// For tests of models: a small network of each family, and batches of random samples. Header only.
#pragma once

#include <algorithm>
#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "data/draws.h"
#include "data/source.h"
#include "gradwire/core/random.h"
#include "gtest/gtest.h"
#include "train/model.h"

namespace gradwire::train {

struct ModelCase {
  const char* name;
  const char* spec;
  data::SampleShape shape;
  const char* last_layer;  // what the names of its parameters begin with
};

inline std::string case_name(const testing::TestParamInfo<ModelCase>& instance) {
  return instance.param.name;
}

inline void PrintTo(const ModelCase& model_case, std::ostream* out) { *out << model_case.spec; }

inline data::SampleShape image_shape(std::size_t channels, std::size_t size) {
  return {.channels = channels, .height = size, .width = size, .classes = 10};
}

inline data::SampleShape text_shape(std::size_t tokens, std::size_t vocabulary) {
  return {.kind = data::SampleShape::Kind::text, .width = tokens, .classes = vocabulary};
}

inline std::vector<ModelCase> model_cases() {
  return {
      {"Mlp", "mlp(hidden=24, layers=2)", image_shape(1, 6), "fc3"},
      {"MlpOnFeatures",
       "mlp(hidden=24, dropout=0.25)",
       {.kind = data::SampleShape::Kind::features, .width = 13, .classes = 3},
       "fc2"},
      {"Cnn", "cnn(channels=4, hidden=16)", image_shape(1, 9), "fc2"},
      {"CnnOnColours", "cnn(channels=4, hidden=16)", image_shape(3, 8), "fc2"},
      {"ResNet20", "resnet20", image_shape(3, 16), "f."},
      {"ResNet18", "resnet18(width=4)", image_shape(1, 16), "fc"},
      {"Segmenter",
       "segmenter(channels=2)",
       {.kind = data::SampleShape::Kind::segments, .height = 8, .width = 8, .classes = 3},
       "classes"},
      {"Transformer", "transformer(layers=2, heads=2, width=16)", text_shape(8, 11), "output"},
      {"TiedTransformer", "transformer(layers=1, heads=2, width=16, dropout=0.1, tied=on)",
       text_shape(8, 11), "norm"},
  };
}

// The class of a pixel is whether its first channel is positive: no network learns random labels of
// so many pixels by heart.
inline void label_pixels(const data::SampleShape& shape, data::Batch& batch) {
  for (std::size_t sample = 0; sample < batch.samples; ++sample) {
    for (std::size_t pixel = 0; pixel < shape.targets(); ++pixel) {
      batch.targets[sample * shape.targets() + pixel] =
          batch.values[sample * shape.elements() + pixel] > 0 ? 1 : 0;
    }
  }
}

inline data::Batch random_batch(const data::SampleShape& shape, std::size_t samples,
                                std::uint64_t seed = 1) {
  data::Draws draws(Rng{.seed = seed, .tensor = Rng::tensor_id("batch")});
  const bool is_text = shape.kind == data::SampleShape::Kind::text;
  data::Batch batch{.samples = samples};
  const auto draw_class = [&] { return static_cast<std::int64_t>(draws.below(shape.classes)); };
  if (is_text) {
    batch.tokens.resize(samples * shape.width);
    std::ranges::generate(batch.tokens, draw_class);
  } else {
    batch.values.resize(samples * shape.elements());
    std::ranges::generate(batch.values, [&] { return static_cast<float>(draws.normal()); });
  }
  batch.targets.resize(samples * shape.targets());
  std::ranges::generate(batch.targets, draw_class);
  if (!is_text && shape.targets() > 1) label_pixels(shape, batch);
  return batch;
}

inline std::vector<float> copy_of(std::span<const float> values) {
  return {values.begin(), values.end()};
}

}  // namespace gradwire::train
