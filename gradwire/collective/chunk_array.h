// ChunkArray: a float for each element of an owner's chunk, part by part. Allocated with the first
// use. For one thread.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "gradwire/collective/layout.h"

namespace gradwire {

class ChunkArray {
 public:
  std::span<float> part(const Layout& layout, const Chunk& chunk, std::size_t part);

 private:
  std::vector<float> values_;
  std::vector<std::size_t> at_;  // by part of the chunk
};

}  // namespace gradwire
