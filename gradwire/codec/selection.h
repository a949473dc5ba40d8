// What the sparsifiers share: the list of kept elements of a tensor, and how it is made.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "gradwire/codec/codec.h"
#include "gradwire/codec/scale_facts.h"

namespace gradwire {

// The bits of |value|: they order as magnitudes do, NaN above infinity above the finite.
inline std::uint32_t magnitude(float value) {
  return std::bit_cast<std::uint32_t>(value) & 0x7fffffffu;
}

// The number of elements that make up a share of n, rounded up.
std::size_t count_of_share(double share, std::size_t n);

// Indices have 32 bits. Throws Error.
void check_length(std::size_t elements, std::string_view stage);

// Resizes without giving memory back, and takes more than asked for: the numbers of candidates vary
// from call to call, and steady work should not allocate.
template <class T>
void resize_amply(std::vector<T>& memory, std::size_t count) {
  if (memory.capacity() < count) memory.reserve(count + count / 4);
  memory.resize(count);
}

// Room for `count` more elements behind the first `used`.
template <class T>
std::span<T> room_behind(std::vector<T>& memory, std::size_t used, std::size_t count) {
  if (memory.size() < used + count) resize_amply(memory, used + count + used / 4);
  return std::span<T>(memory).subspan(used);
}

// Adds every element with a magnitude above the threshold to those that are kept.
void append_all_above(TensorRange range, std::uint32_t threshold, Scale::Facts& facts);

// Keeps every element with a magnitude above the threshold, and no others.
inline void select_all_above(std::span<const float> tensor, std::uint32_t threshold,
                             Scale::Facts& facts) {
  facts.indices.clear();
  facts.values.clear();
  append_all_above({.values = tensor, .first = 0}, threshold, facts);
}

// Keeps those elements of the selection for which keep(index, value) says so, in order.
template <class Keep>
void filter(Scale::Facts& facts, const Keep& keep) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < facts.indices.size(); ++i) {
    const std::uint32_t index = facts.indices[i];
    const float value = facts.values[i];
    facts.indices[kept] = index;
    facts.values[kept] = value;
    kept += keep(index, value) ? 1 : 0;  // no branch: it would be hard to predict
  }
  facts.indices.resize(kept);
  facts.values.resize(kept);
}

}  // namespace gradwire
