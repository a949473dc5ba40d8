#include "gradwire/file/tensor.h"

#include <algorithm>
#include <limits>

namespace gradwire {

std::optional<std::uint64_t> shape_elements(std::span<const std::uint64_t> shape) {
  if (std::find(shape.begin(), shape.end(), std::uint64_t{0}) != shape.end()) return 0;
  std::uint64_t elements = 1;
  for (const std::uint64_t length : shape) {
    if (elements > std::numeric_limits<std::uint64_t>::max() / length) return std::nullopt;
    elements *= length;
  }
  return elements;
}

}  // namespace gradwire
