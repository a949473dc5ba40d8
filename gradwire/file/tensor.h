// Tensor: the values of a file in C order, and an optional shape. Value type.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace gradwire {

inline constexpr std::size_t kTensorDimensionsMax = 64;

struct Tensor {
  std::vector<float> values;
  // Its product is values.size(); {} is a single value. Raw files have none.
  std::optional<std::vector<std::uint64_t>> shape = {};

  bool operator==(const Tensor&) const = default;
};

// The number of elements of a shape; nothing if it does not fit 64 bits.
std::optional<std::uint64_t> shape_elements(std::span<const std::uint64_t> shape);

}  // namespace gradwire
