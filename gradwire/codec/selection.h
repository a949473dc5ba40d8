// What the sparsifiers share: the list of kept elements of a tensor, and how it is made.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "gradwire/codec/codec.h"
#include "gradwire/codec/scale_facts.h"
#include "gradwire/core/thread_pool.h"
#include "gradwire/kernel/block.h"

namespace gradwire {

// The bits of |value|: they order as magnitudes do, NaN above infinity above the finite.
inline std::uint32_t magnitude(float value) {
  return std::bit_cast<std::uint32_t>(value) & 0x7fffffffu;
}

// The number of elements that make up a share of n, rounded up.
std::size_t count_of_share(double share, std::size_t n);

// Indices have 32 bits. Throws Error.
void check_length(std::size_t elements, std::string_view stage);

// The kept elements of a tensor that a sparse codec has measured, and their values.
std::span<const std::uint32_t> kept_indices(const Scale& scale);
std::span<const float> kept_values(const Scale& scale);

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

// The k-th largest of number(i) for i < count, none of which is below `least`; k counts from 1.
// Counting by their upper bits first leaves few to sort, in `room(n)`: memory for n numbers.
template <class Number, class Room>
std::uint32_t kth_largest_in(std::size_t count, const Number& number, std::size_t k,
                             std::uint32_t least, const Room& room) {
  constexpr int kBinBitsMax = 12;
  std::uint32_t counts[1 << kBinBitsMax];
  // A short list should not pay for a long table.
  const int bin_bits = std::clamp(static_cast<int>(std::bit_width(count)) - 2, 4, kBinBitsMax);
  std::fill_n(counts, 1 << bin_bits, 0u);
  std::uint32_t span = 0;
  for (std::size_t i = 0; i < count; ++i) span = std::max(span, number(i) - least);
  const int shift = std::max(0, static_cast<int>(std::bit_width(span)) - bin_bits);
  for (std::size_t i = 0; i < count; ++i) ++counts[(number(i) - least) >> shift];
  std::uint32_t bin = (1u << bin_bits) - 1;
  for (; counts[bin] < k; --bin) k -= counts[bin];
  const std::span<std::uint32_t> scratch = room(counts[bin] + 1);  // and one that is overwritten
  std::size_t found = 0;
  for (std::size_t i = 0; i < count; ++i) {
    scratch[found] = number(i);
    found += (scratch[found] - least) >> shift == bin ? 1 : 0;
  }
  const auto kth = scratch.begin() + static_cast<std::ptrdiff_t>(k - 1);
  std::nth_element(scratch.begin(), kth, scratch.end() - 1, std::greater<>());
  return *kth;
}

template <class Number>
std::uint32_t kth_largest(std::size_t count, const Number& number, std::size_t k,
                          std::uint32_t least, std::vector<std::uint32_t>& scratch) {
  return kth_largest_in(count, number, k, least, [&](std::size_t n) {
    scratch.reserve(512);  // the count of one bin varies more from call to call than that of all
    resize_amply(scratch, n);
    return std::span(scratch);
  });
}

// Appends the lists of all shares to those of the tensor. False if one is not finite.
bool join_shares(Scale::Facts& facts);

// Finds the kept elements of a tensor, on all threads of the pool. `find(range, indices, values)`
// appends those of a range, which starts at a multiple of `unit`, and says whether it met nothing
// but finite values. So does the result, for all.
template <class Find>
bool find_kept(std::span<const float> tensor, Scale::Facts& facts, ThreadPool& pool,
               const Find& find, std::size_t unit = kernel::kBlockElements) {
  facts.indices.clear();
  facts.values.clear();
  constexpr std::size_t kSharedMin = std::size_t{1} << 18;
  if (pool.threads() == 1 || tensor.size() < kSharedMin) {
    return find(TensorRange{.values = tensor, .first = 0}, facts.indices, facts.values);
  }
  // More shares than threads: one that is held up gets fewer of them.
  facts.shares.resize(4 * pool.threads());
  const std::size_t units = (tensor.size() - 1) / unit + 1;
  const auto begin = [&](std::size_t i) {
    return std::min(tensor.size(), units * i / facts.shares.size() * unit);
  };
  const auto find_share = [&](std::size_t i) {
    Scale::Facts::Share& share = facts.shares[i];
    share.indices.clear();
    share.values.clear();
    const std::size_t first = begin(i);
    share.finite =
        find(TensorRange{.values = tensor.subspan(first, begin(i + 1) - first), .first = first},
             share.indices, share.values);
  };
  pool.run(facts.shares.size(), [&find_share](std::size_t i, std::size_t) { find_share(i); });
  return join_shares(facts);
}

// Adds every element with a magnitude above the threshold to those that are kept.
void append_all_above(TensorRange range, std::uint32_t threshold,
                      std::vector<std::uint32_t>& indices, std::vector<float>& values);

// Keeps every element with a magnitude above the threshold, and no others.
inline void select_all_above(std::span<const float> tensor, std::uint32_t threshold,
                             Scale::Facts& facts, ThreadPool& pool) {
  find_kept(tensor, facts, pool, [threshold](TensorRange range, auto& indices, auto& values) {
    append_all_above(range, threshold, indices, values);
    return true;
  });
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
