// What is inside a Workspace. For codecs only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "gradwire/codec/block_symbols.h"
#include "gradwire/codec/huffman.h"
#include "gradwire/codec/workspace.h"

namespace gradwire {

// Memory that grows and is never given back; what was in it is lost when it grows.
template <class T>
class GrowingBuffer {
 public:
  std::span<T> get(std::size_t count) {
    if (count > memory_.size()) memory_.resize(count);
    return std::span<T>(memory_).first(count);
  }
  void grow_to(const GrowingBuffer& other) { get(other.memory_.size()); }

 private:
  std::vector<T> memory_;
};

struct Workspace::Buffers {
  BlockSymbols block;
  GrowingBuffer<float> scales;
  GrowingBuffer<float> values;           // kept values of a sparse payload
  GrowingBuffer<std::uint32_t> indices;  // and where they belong
  GrowingBuffer<std::uint32_t> found;    // indices in one block
  GrowingBuffer<std::uint8_t> planes;    // symbols before or after entropy coding
  HuffmanTables huffman;

  void grow_to(const Buffers& other) {
    scales.grow_to(other.scales);
    values.grow_to(other.values);
    indices.grow_to(other.indices);
    found.grow_to(other.found);
    planes.grow_to(other.planes);
  }
};

}  // namespace gradwire
