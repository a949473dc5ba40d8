#include "gradwire/codec/rice.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "gradwire/core/bytes.h"
#include "gradwire/core/check.h"

namespace gradwire {
namespace {

// Bytes: r (1), bytes of the quotients' string (4), the remainders' string, the quotients' string.
constexpr std::size_t kHeaderBytes = 1 + 4;
constexpr unsigned kRemainderBitsMax = 31;

std::size_t bytes_of_bits(std::uint64_t bits) { return static_cast<std::size_t>((bits + 7) / 8); }

// Close to the best for gaps of this mean: the gap's mean in binary places.
unsigned usual_remainder_bits(std::size_t count, std::size_t range) {
  const std::size_t mean_gap = range / std::max<std::size_t>(1, count);
  return mean_gap == 0 ? 0 : static_cast<unsigned>(std::bit_width(mean_gap)) - 1;
}

template <class Body>
void for_gaps(std::span<const std::uint32_t> indices, std::uint32_t first, const Body& body) {
  std::uint32_t expected = first;
  for (const std::uint32_t index : indices) {
    body(index - expected);
    expected = index + 1;
  }
}

class BitWriter {
 public:
  explicit BitWriter(std::byte* out) : out_(out) {}

  void put(std::uint64_t bits, unsigned count) {  // count <= 32
    pending_ |= bits << pending_bits_;
    pending_bits_ += count;
    if (pending_bits_ >= 32) {
      flush(4);
      pending_ >>= 32;
      pending_bits_ -= 32;
    }
  }
  void put_unary(std::uint64_t zeros) {
    for (; zeros >= 31; zeros -= 31) put(0, 31);
    put(std::uint64_t{1} << zeros, static_cast<unsigned>(zeros) + 1);
  }
  std::byte* finish() {
    flush((pending_bits_ + 7) / 8);
    return out_;
  }

 private:
  void flush(std::size_t bytes) {
    std::memcpy(out_, &pending_, bytes);
    out_ += bytes;
  }

  std::byte* out_;
  std::uint64_t pending_ = 0;
  unsigned pending_bits_ = 0;
};

// Eight bytes from `at` on; what lies behind the end reads as zero.
std::uint64_t load_word(std::span<const std::byte> bytes, std::size_t at) {
  std::uint64_t word = 0;
  if (at < bytes.size()) {
    std::memcpy(&word, bytes.data() + at, std::min<std::size_t>(8, bytes.size() - at));
  }
  return word;
}

}  // namespace

std::size_t rice_bytes_max(std::size_t count, std::size_t range) {
  // With r of usual_remainder_bits, c indices take c (r + 1) bits and quotients of range / 2^r in
  // all, which is below c (log2(range / c) + 3). That rises with c, so it bounds fewer ones too.
  const std::uint64_t r = usual_remainder_bits(count, range);
  return kHeaderBytes + bytes_of_bits(std::uint64_t{count} * (r + 4)) + 2;
}

std::size_t rice_encode(std::span<const std::uint32_t> indices, std::uint32_t first,
                        std::size_t range, std::span<std::byte> out) {
  const auto total_bits = [&](unsigned r) {
    std::uint64_t quotients = 0;
    for_gaps(indices, first, [&](std::uint32_t gap) { quotients += gap >> r; });
    return quotients + std::uint64_t{indices.size()} * (r + 1);
  };
  const unsigned usual = usual_remainder_bits(indices.size(), range);
  unsigned best = usual;
  std::uint64_t best_bits = total_bits(usual);
  // Gaps of real gradients are uneven, and shorter remainders often do better.
  for (unsigned r = usual; r-- > 0;) {
    const std::uint64_t bits = total_bits(r);
    if (bits >= best_bits) break;
    best_bits = bits;
    best = r;
  }

  const std::size_t remainder_bytes = bytes_of_bits(std::uint64_t{indices.size()} * best);
  const std::size_t quotient_bytes =
      bytes_of_bits(best_bits - std::uint64_t{indices.size()} * best);
  const std::size_t bytes = kHeaderBytes + remainder_bytes + quotient_bytes;
  GW_CHECK(bytes <= out.size());
  store_le(out, 0, static_cast<std::uint8_t>(best));
  store_le(out, 1, static_cast<std::uint32_t>(quotient_bytes));
  BitWriter remainders(out.data() + kHeaderBytes);
  BitWriter quotients(out.data() + kHeaderBytes + remainder_bytes);
  for_gaps(indices, first, [&](std::uint32_t gap) {
    remainders.put(gap & ((std::uint64_t{1} << best) - 1), best);
    quotients.put_unary(gap >> best);
  });
  remainders.finish();
  GW_CHECK(quotients.finish() == out.data() + bytes);
  return bytes;
}

Decoded<std::size_t> rice_decode(std::span<const std::byte> in, std::size_t range,
                                 std::span<std::uint32_t> indices) {
  if (in.size() < kHeaderBytes) return Unexpected{DecodeError{"indices are cut off", in.size()}};
  const unsigned r = load_le<std::uint8_t>(in, 0);
  const std::size_t quotient_bytes = load_le<std::uint32_t>(in, 1);
  if (r > kRemainderBitsMax) return Unexpected{DecodeError{"indices have absurd remainders", 0}};
  const std::size_t remainder_bytes = bytes_of_bits(std::uint64_t{indices.size()} * r);
  if (in.size() - kHeaderBytes < remainder_bytes ||
      in.size() - kHeaderBytes - remainder_bytes < quotient_bytes) {
    return Unexpected{DecodeError{"indices are cut off", in.size()}};
  }
  const auto remainders = in.subspan(kHeaderBytes, remainder_bytes);
  const auto quotients = in.subspan(kHeaderBytes + remainder_bytes, quotient_bytes);

  std::uint64_t remainder_bit = 0;
  std::uint64_t quotient_bit = 0;
  std::uint64_t expected = 0;  // the least that the next index can be
  for (std::uint32_t& index : indices) {
    std::uint64_t quotient = 0;
    while (true) {
      const std::uint64_t word = load_word(quotients, quotient_bit / 8) >> (quotient_bit % 8);
      const std::uint64_t seen = 64 - quotient_bit % 8;
      if (word != 0) {
        const auto zeros = static_cast<unsigned>(std::countr_zero(word));
        quotient += zeros;
        quotient_bit += zeros + 1;
        break;
      }
      quotient += seen;
      quotient_bit += seen;
      if (quotient_bit >= std::uint64_t{quotient_bytes} * 8) {
        return Unexpected{DecodeError{"indices end early", kHeaderBytes + remainder_bytes}};
      }
    }
    if (quotient > range) return Unexpected{DecodeError{"an index is out of range", kHeaderBytes}};
    const std::uint64_t remainder =
        load_word(remainders, remainder_bit / 8) >> (remainder_bit % 8) &
        ((std::uint64_t{1} << r) - 1);
    remainder_bit += r;
    const std::uint64_t at = expected + (quotient << r) + remainder;
    if (at >= range) return Unexpected{DecodeError{"an index is out of range", kHeaderBytes}};
    index = static_cast<std::uint32_t>(at);
    expected = at + 1;
  }
  if (bytes_of_bits(quotient_bit) != quotient_bytes) {
    return Unexpected{DecodeError{"indices go on too long", kHeaderBytes + remainder_bytes}};
  }
  return kHeaderBytes + remainder_bytes + quotient_bytes;
}

}  // namespace gradwire
