#include "gradwire/codec/plane_streams.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "gradwire/kernel/relative.h"

namespace gradwire {
namespace {

using kernel::kGroupElements;

// Of an exponent plane.
constexpr std::size_t kLargest = 0;
constexpr std::size_t kExponents = 1;

bool has_zero_groups(const Plane& plane, std::size_t k, std::size_t count,
                     std::span<std::uint8_t* const> streams) {
  return plane.kind == Plane::Kind::exponents && k == kExponents &&
         std::memchr(streams[kLargest], 0, kernel::group_count(count)) != nullptr;
}

std::size_t group_size(std::size_t group, std::size_t count) {
  return std::min(kGroupElements, count - group * kGroupElements);
}

// --- Bits, a word of 64 at a time ---

// Replaces every word by body(word). Bits behind the last one become zero.
template <class Body>
void replace_words(std::size_t count, std::uint8_t* bits, Body body) {
  for (; count >= 64; count -= 64, bits += 8) {
    std::uint64_t word;
    std::memcpy(&word, bits, 8);
    word = body(word);
    std::memcpy(bits, &word, 8);
  }
  if (count == 0) return;
  const std::uint64_t mask = (std::uint64_t{1} << count) - 1;
  std::uint64_t word = 0;
  std::memcpy(&word, bits, (count + 7) / 8);
  word = body(word & mask) & mask;
  std::memcpy(bits, &word, (count + 7) / 8);
}

// What is expected of all bits of the group behind this one.
std::uint64_t expected_behind(std::uint64_t bits) {
  return std::popcount(bits) > 32 ? ~std::uint64_t{0} : 0;
}

void make_differences(std::size_t count, std::uint8_t* bits) {
  replace_words(count, bits, [expected = std::uint64_t{0}](std::uint64_t word) mutable {
    const std::uint64_t difference = word ^ expected;
    expected = expected_behind(word);
    return difference;
  });
}

void undo_differences(std::size_t count, std::uint8_t* bits) {
  replace_words(count, bits, [expected = std::uint64_t{0}](std::uint64_t difference) mutable {
    const std::uint64_t word = difference ^ expected;
    expected = expected_behind(word);
    return word;
  });
}

}  // namespace

std::size_t stream_count(const Plane& plane) {
  switch (plane.kind) {
    case Plane::Kind::exponents:
    case Plane::Kind::wide:
      return 2;
    case Plane::Kind::floats:
      return 4;
    case Plane::Kind::bits:
    case Plane::Kind::symbols:
    case Plane::Kind::trits:
      break;
  }
  return 1;
}

std::size_t stream_bytes(const Plane& plane, std::size_t k, std::size_t count) {
  if (plane.kind == Plane::Kind::bits) return (count + 7) / 8;
  const bool is_of_groups = plane.kind == Plane::Kind::exponents && k == kLargest;
  return is_of_groups ? kernel::group_count(count) : count;
}

void split(const Plane& plane, std::size_t count, BlockSymbols& block,
           std::span<std::uint8_t* const> streams) {
  const auto [symbols, width] = raw_symbols(plane, block);
  if (plane.kind == Plane::Kind::exponents) {
    kernel::make_relative(kernel::SymbolBlock(block.symbols), count, streams[kLargest]);
    std::memcpy(streams[kExponents], symbols, count);
  } else if (width <= 1) {
    std::memcpy(streams[0], symbols, stream_bytes(plane, 0, count));
  } else {
    for (std::size_t k = 0; k < width; ++k) {
      for (std::size_t j = 0; j < count; ++j) streams[k][j] = symbols[j * width + k];
    }
  }
}

void join(const Plane& plane, std::size_t count, std::span<std::uint8_t* const> streams,
          BlockSymbols& block) {
  const auto [symbols, width] = raw_symbols(plane, block);
  if (plane.kind == Plane::Kind::exponents) {
    std::memcpy(symbols, streams[kExponents], count);
    kernel::make_absolute(kernel::SymbolBlock(block.symbols), count, streams[kLargest]);
  } else if (width <= 1) {
    std::memcpy(symbols, streams[0], stream_bytes(plane, 0, count));
  } else {
    for (std::size_t k = 0; k < width; ++k) {
      for (std::size_t j = 0; j < count; ++j) symbols[j * width + k] = streams[k][j];
    }
  }
}

std::size_t condense(const Plane& plane, std::size_t k, std::size_t count,
                     std::span<std::uint8_t* const> streams) {
  if (plane.kind == Plane::Kind::bits) make_differences(count, streams[k]);
  if (!has_zero_groups(plane, k, count, streams)) return stream_bytes(plane, k, count);
  std::uint8_t* end = streams[kExponents];
  for (std::size_t group = 0; group < kernel::group_count(count); ++group) {
    if (streams[kLargest][group] == 0) continue;
    const std::size_t bytes = group_size(group, count);
    std::memmove(end, streams[kExponents] + group * kGroupElements, bytes);
    end += bytes;
  }
  return static_cast<std::size_t>(end - streams[kExponents]);
}

std::size_t condensed_bytes(const Plane& plane, std::size_t k, std::size_t count,
                            std::span<std::uint8_t* const> streams) {
  std::size_t bytes = stream_bytes(plane, k, count);
  if (!has_zero_groups(plane, k, count, streams)) return bytes;
  for (std::size_t group = 0; group < kernel::group_count(count); ++group) {
    if (streams[kLargest][group] == 0) bytes -= group_size(group, count);
  }
  return bytes;
}

void restore(const Plane& plane, std::size_t k, std::size_t count,
             std::span<std::uint8_t* const> streams) {
  if (plane.kind == Plane::Kind::bits) undo_differences(count, streams[k]);
  if (!has_zero_groups(plane, k, count, streams)) return;
  // From the last group on: none is written over before it was moved.
  std::size_t end = condensed_bytes(plane, k, count, streams);
  for (std::size_t group = kernel::group_count(count); group-- > 0;) {
    const std::size_t bytes = group_size(group, count);
    std::uint8_t* const place = streams[kExponents] + group * kGroupElements;
    if (streams[kLargest][group] == 0) {
      std::memset(place, kernel::kZeroSymbol, bytes);
    } else {
      end -= bytes;
      std::memmove(place, streams[kExponents] + end, bytes);
    }
  }
}

}  // namespace gradwire
