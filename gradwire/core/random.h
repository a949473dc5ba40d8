// Random numbers that are addressed by element. A number depends only on its address, never on the
// thread that draws it or on the order of draws. Stateless; safe from any thread.
//
// A number is named by (seed, rank, step, tensor, purpose, stage, element). Everything but the
// element is hashed once into a RandomStream; the element then costs two multiplications.
#pragma once

#include <cstdint>
#include <string_view>

namespace gradwire {

// The stream's number for element j is mix(offset + j * step). The step is odd, so that within
// 2^32 elements no number comes twice: the stream is a keyed permutation of 32-bit numbers.
struct RandomStream {
  std::uint32_t offset = 0;
  std::uint32_t step = 1;

  // The same stream with element `elements` as its element 0.
  constexpr RandomStream advanced(std::uint64_t elements) const {
    return {offset + static_cast<std::uint32_t>(elements) * step, step};
  }

  constexpr std::uint32_t at(std::uint32_t element) const { return mix(offset + element * step); }

  // A bijection of 32-bit numbers: x (2x + c) is one for every odd c. Two of them, with a shift
  // between, hide that x is a counter, even one that counts by 1; multiplications by constants
  // would not. The high bits are the most random: use bits from the top.
  static constexpr std::uint32_t mix(std::uint32_t x) {
    x *= 2 * x + kOdd1;
    x ^= x >> 13;
    x *= 2 * x + kOdd2;
    return x;
  }

  static constexpr std::uint32_t kOdd1 = 0x7feb352du;
  static constexpr std::uint32_t kOdd2 = 0x846ca68bu;
};

// The purpose of a draw. It is part of the address, so draws for different purposes are
// independent.
enum class Purpose : std::uint32_t { uplink = 1, downlink = 2, hop = 3, data = 4 };

// The address of all random numbers of one tensor in one exchange.
struct Rng {
  std::uint64_t seed = 0;
  std::uint64_t step = 0;
  std::uint64_t tensor = 0;  // tensor_id(name)
  std::uint32_t rank = 0;
  Purpose purpose = Purpose::uplink;

  // The same numbers on every rank.
  Rng shared() const;

  // The stream of one stage of a pipe, with the tensor's element `first` as its element 0. In
  // tensors of more than 2^32 elements the numbers start again from there.
  RandomStream stream(std::uint32_t stage, std::uint64_t first) const;

  static std::uint64_t tensor_id(std::string_view name);
};

}  // namespace gradwire
