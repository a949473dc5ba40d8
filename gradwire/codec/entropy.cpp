#include "gradwire/codec/entropy.h"

#include <algorithm>
#include <cstring>

#include "gradwire/core/check.h"

namespace gradwire {
namespace {

static_assert(kHuffmanSymbolsMax % kernel::kBlockElements == 0);

// --- Lengths ---

constexpr std::size_t kLengthBytesMax = 3;
constexpr unsigned kMore = 0x80;
static_assert(kHuffmanSymbolsMax + 1 < 1 << 7 * kLengthBytesMax);

std::size_t write_length(std::size_t length, std::byte* out) {
  std::size_t used = 0;
  for (; length >= kMore; length >>= 7) out[used++] = static_cast<std::byte>(length | kMore);
  out[used++] = static_cast<std::byte>(length);
  return used;
}

struct Length {
  std::size_t value = 0;
  std::size_t bytes = 0;
};

Decoded<Length> read_length(std::span<const std::byte> payload, std::size_t at) {
  Length length;
  while (length.bytes < kLengthBytesMax) {
    if (at + length.bytes == payload.size()) {
      return Unexpected{DecodeError{"payload ends inside a stream's length", payload.size()}};
    }
    const auto byte = std::to_integer<unsigned>(payload[at + length.bytes]);
    length.value |= std::size_t{byte & (kMore - 1)} << 7 * length.bytes++;
    if (byte < kMore) return length;
  }
  return Unexpected{DecodeError{"a stream's length has no end", at}};
}

// --- Memory of streams ---

std::size_t all_stream_bytes(std::span<const Plane> planes, std::size_t elements) {
  std::size_t bytes = 0;
  for (const Plane& plane : planes) {
    for (std::size_t k = 0; k < stream_count(plane); ++k) bytes += stream_bytes(plane, k, elements);
  }
  return bytes;
}

std::uint8_t* stream_memory(std::span<const Plane> planes, std::size_t elements,
                            Workspace::Buffers& buffers) {
  GW_CHECK(planes.size() <= kPlanesMax);
  return buffers.planes.get(all_stream_bytes(planes, elements)).data();
}

}  // namespace

StreamPlaces::StreamPlaces(std::span<const Plane> planes, std::uint8_t* memory,
                           std::size_t elements, std::size_t first) {
  for (std::size_t p = 0; p < planes.size(); ++p) {
    for (std::size_t k = 0; k < stream_count(planes[p]); ++k) {
      at[p][k] = memory + stream_bytes(planes[p], k, first);
      memory += stream_bytes(planes[p], k, elements);
    }
  }
}

std::size_t entropy_bytes_max(std::span<const Plane> planes, std::size_t count) {
  const std::size_t chunks = (count + kHuffmanSymbolsMax - 1) / kHuffmanSymbolsMax;
  const std::size_t in_chunk = std::min(count, kHuffmanSymbolsMax);
  std::size_t bytes = 0;
  for (const Plane& plane : planes) {
    for (std::size_t k = 0; k < stream_count(plane); ++k) {
      bytes += kLengthBytesMax + huffman_bytes_max(stream_bytes(plane, k, in_chunk));
    }
  }
  return chunks * bytes;
}

// --- Encoder ---

EntropyEncoder::EntropyEncoder(std::span<const Plane> planes, Workspace::Buffers& buffers)
    : planes_(planes),
      buffers_(buffers),
      memory_(stream_memory(planes, kHuffmanSymbolsMax, buffers)) {}

void EntropyEncoder::add(std::size_t count) {
  const StreamPlaces streams(planes_, memory_, kHuffmanSymbolsMax, count_);
  for (std::size_t p = 0; p < planes_.size(); ++p) {
    split(planes_[p], count, buffers_.block, streams.at[p]);
  }
  count_ += count;
}

std::size_t EntropyEncoder::write_chunk(std::span<std::byte> payload) {
  const StreamPlaces streams(planes_, memory_, kHuffmanSymbolsMax, 0);
  std::size_t used = 0;
  for (std::size_t p = 0; p < planes_.size(); ++p) {
    for (std::size_t k = 0; k < stream_count(planes_[p]); ++k) {
      const std::size_t symbols = condense(planes_[p], k, count_, streams.at[p]);
      const auto coded = payload.subspan(used + kLengthBytesMax);
      const std::size_t bytes =
          huffman_encode({streams.at[p][k], symbols}, coded, buffers_.huffman);
      used += write_length(bytes, payload.data() + used);
      std::byte* const place = payload.data() + used;
      if (place != coded.data()) std::memmove(place, coded.data(), bytes);
      used += bytes;
    }
  }
  count_ = 0;
  return used;
}

// --- Decoder ---

EntropyDecoder::EntropyDecoder(std::span<const Plane> planes, std::size_t elements,
                               Workspace::Buffers& buffers)
    : planes_(planes),
      elements_(elements),
      buffers_(buffers),
      memory_(stream_memory(planes, elements, buffers)) {}

Decoded<void> EntropyDecoder::read(std::span<const std::byte> payload, std::size_t at) {
  for (std::size_t first = 0; first < elements_; first += kHuffmanSymbolsMax) {
    const std::size_t count = std::min(kHuffmanSymbolsMax, elements_ - first);
    const StreamPlaces streams(planes_, memory_, elements_, first);
    for (std::size_t p = 0; p < planes_.size(); ++p) {
      for (std::size_t k = 0; k < stream_count(planes_[p]); ++k) {
        const std::size_t symbols = condensed_bytes(planes_[p], k, count, streams.at[p]);
        const auto end = read_stream(payload, at, {streams.at[p][k], symbols});
        if (!end) return Unexpected{end.error()};
        restore(planes_[p], k, count, streams.at[p]);
        at = *end;
      }
    }
  }
  if (at != payload.size()) {
    return Unexpected{DecodeError{"payload has bytes after its last chunk", at}};
  }
  return {};
}

Decoded<std::size_t> EntropyDecoder::read_stream(std::span<const std::byte> payload, std::size_t at,
                                                 std::span<std::uint8_t> symbols) {
  const auto length = read_length(payload, at);
  if (!length) return Unexpected{length.error()};
  at += length->bytes;
  if (payload.size() - at < length->value) {
    return Unexpected{DecodeError{"payload ends inside a stream", at}};
  }
  const auto decoded =
      huffman_decode(payload.subspan(at, length->value), symbols, buffers_.huffman);
  if (!decoded) {
    return Unexpected{DecodeError{decoded.error().what, at + decoded.error().byte_offset}};
  }
  return at + length->value;
}

const std::uint8_t* EntropyDecoder::take(std::size_t first, std::size_t count) {
  const StreamPlaces streams(planes_, memory_, elements_, first);
  for (std::size_t p = 0; p < planes_.size(); ++p) {
    join(planes_[p], count, streams.at[p], buffers_.block);
  }
  return streams.at[0][stream_count(planes_[0]) - 1] + count;
}

}  // namespace gradwire
