#include "gradwire/collective/chunk_array.h"

namespace gradwire {

std::span<float> ChunkArray::part(const Layout& layout, const Chunk& chunk, std::size_t part) {
  if (at_.empty()) {
    std::size_t elements = 0;
    for (const Part& each : layout.parts_of(chunk)) {
      at_.push_back(elements);
      elements += each.elements;
    }
    values_.resize(elements);
  }
  return std::span(values_).subspan(at_[part - chunk.first_part], layout.parts[part].elements);
}

}  // namespace gradwire
