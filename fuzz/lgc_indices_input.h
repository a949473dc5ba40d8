// What the fuzz target lgc_indices reads: messages of three layers, with values by these codecs.
// The first byte chooses.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <vector>

#include "gradwire/core/check.h"
#include "gradwire/method/lgc/shared_indices.h"

namespace gradwire::fuzz {

inline constexpr double kIndexShare = 0.05;
inline constexpr std::array kIndexCodecs = {"sign", "natural | entropy"};
inline const std::vector<LayerShape> kIndexLayers = {
    {.rows = 20, .columns = 15},
    {.rows = 10, .columns = 100},
    {.rows = 8, .columns = 72, .kernel = 9, .width = 3}};
inline constexpr std::size_t kIndexFirst = 300;
inline constexpr std::size_t kIndexElements = 1300 + 576;

// A message reader that has recorded a few messages, as one is in the midst of training.
inline IndexMessage experienced_message(std::size_t codec) {
  IndexMessage message(kIndexLayers, kIndexShare, kIndexCodecs[codec]);
  for (std::size_t step = 0; step < 3; ++step) {
    std::vector<float> values(kIndexElements);
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = std::sin(static_cast<float>(i * i + step)) / static_cast<float>(1 + i % 15);
    }
    GW_CHECK(message.read(message.write(values, {}).bytes).has_value());
    message.record();
  }
  return message;
}

}  // namespace gradwire::fuzz
