#include "gradwire/codec/value_coder.h"

#include <algorithm>
#include <cstring>

#include "gradwire/core/bytes.h"
#include "gradwire/core/check.h"
#include "gradwire/kernel/copy.h"

namespace gradwire {
namespace {

using kernel::kBlockElements;

constexpr std::size_t kPlanesMax = 2;
static_assert(kHuffmanSymbolsMax % kBlockElements == 0);

// Payloads of this size are written past the caches: they would not stay there anyway.
constexpr std::size_t kStreamedBytes = 2 << 20;

// The quantisers have one plane that is entropy-coded, or none.
const Plane* coded_plane(const Quantiser& quantiser) {
  for (const Plane& plane : quantiser.planes()) {
    if (is_entropy_coded(plane)) return &plane;
  }
  return nullptr;
}

// Where in memory the streams of a plane start, for elements from `first` on, when streams for
// `elements` elements lie one behind the other.
template <class Byte>
struct StreamPointers {
  Byte* at[kStreamsMax] = {};

  StreamPointers(const Plane& plane, Byte* memory, std::size_t elements, std::size_t first) {
    for (std::size_t k = 0; k < stream_count(plane); ++k) {
      at[k] = memory + stream_bytes(plane, k, first);
      memory += stream_bytes(plane, k, elements);
    }
  }
};

std::size_t all_stream_bytes(const Plane& plane, std::size_t elements) {
  std::size_t bytes = 0;
  for (std::size_t k = 0; k < stream_count(plane); ++k) bytes += stream_bytes(plane, k, elements);
  return bytes;
}

}  // namespace

// Where everything of fixed size lies in the payload.
struct ValueCoder::Layout {
  std::size_t scales = 0;  // their number
  std::size_t plane_offset[kPlanesMax] = {};
  std::size_t fixed_bytes = 0;  // scales and packed planes; entropy-coded chunks follow
};

ValueCoder::Layout ValueCoder::layout(std::size_t phase, std::size_t count) const {
  Layout layout{.scales = quantiser_->scale_count(phase, count)};
  layout.fixed_bytes = layout.scales * sizeof(float);
  const auto planes = quantiser_->planes();
  GW_CHECK(planes.size() <= kPlanesMax);
  for (std::size_t p = 0; p < planes.size(); ++p) {
    if (entropy_ && is_entropy_coded(planes[p])) continue;
    layout.plane_offset[p] = layout.fixed_bytes;
    layout.fixed_bytes += packed_bytes(planes[p], count);
  }
  return layout;
}

std::size_t ValueCoder::bytes_max(std::size_t count) const {
  if (count == 0) return 0;
  const std::size_t bytes = layout(quantiser_->bucket_elements() - 1, count).fixed_bytes;
  const Plane* plane = entropy_ ? coded_plane(*quantiser_) : nullptr;
  if (plane == nullptr) return bytes;
  const std::size_t chunks = (count - 1) / kHuffmanSymbolsMax + 1;
  const std::size_t coded_max = huffman_bytes_max(std::min(count, kHuffmanSymbolsMax));
  return bytes + stream_count(*plane) * chunks * (sizeof(std::uint32_t) + coded_max);
}

Encoded ValueCoder::encode(const Slice& slice, const Scale& scale, const Rng& rng,
                           std::span<std::byte> payload, Workspace& workspace) const {
  if (slice.count == 0) return {};
  GW_CHECK(payload.size() >= bytes_max(slice.count));
  Workspace::Buffers& buffers = workspace.buffers();
  const Layout layout = this->layout(slice.begin % quantiser_->bucket_elements(), slice.count);
  const auto planes = quantiser_->planes();
  const auto scales = buffers.scales.get(layout.scales);
  const RandomStream random = rng.stream(kQuantiserStage, slice.position + slice.begin);
  const bool streamed = layout.fixed_bytes >= kStreamedBytes;

  Encoded encoded{.bytes = layout.fixed_bytes};
  std::size_t written[kPlanesMax] = {};  // bytes of each packed plane
  std::size_t waiting = 0;               // elements that wait for entropy coding
  const auto put_plane = [&](std::size_t p, std::size_t count) {
    if (entropy_ && is_entropy_coded(planes[p])) {
      constexpr std::size_t kChunk = kHuffmanSymbolsMax;
      const auto memory = buffers.planes.get(all_stream_bytes(planes[p], kChunk));
      split(planes[p], count, buffers.block,
            StreamPointers<std::uint8_t>(planes[p], memory.data(), kChunk, waiting).at);
      return;
    }
    const auto packed = pack(planes[p], count, buffers.block);
    std::byte* target = payload.data() + layout.plane_offset[p] + written[p];
    if (streamed) {
      kernel::copy_streamed(packed, target);
    } else {
      std::memcpy(target, packed.data(), packed.size());
    }
    written[p] += packed.size();
  };
  kernel::for_blocks(
      slice.values.subspan(slice.begin, slice.count),
      [&](std::size_t offset, std::span<const float> values, const kernel::Ahead& ahead) {
        const Quantiser::EncodeBlock block{.slice = slice,
                                           .offset = offset,
                                           .count = values.size(),
                                           .scale = scale,
                                           .scales = scales,
                                           .random = random.advanced(offset),
                                           .ahead = ahead};
        encoded.finite &= quantiser_->encode(block, buffers.block);
        for (std::size_t p = 0; p < planes.size(); ++p) put_plane(p, values.size());
        waiting += values.size();
        const bool last = offset + values.size() == slice.count;
        if (entropy_ && (last || waiting == kHuffmanSymbolsMax)) {
          encoded.bytes += encode_chunk(waiting, payload.subspan(encoded.bytes), buffers);
          waiting = 0;
        }
      });
  if (streamed) kernel::finish_streamed();
  std::ranges::copy(std::as_bytes(scales), payload.begin());
  return encoded;
}

std::size_t ValueCoder::encode_chunk(std::size_t count, std::span<std::byte> payload,
                                     Workspace::Buffers& buffers) const {
  const Plane* plane = coded_plane(*quantiser_);
  if (plane == nullptr) return 0;
  constexpr std::size_t kChunk = kHuffmanSymbolsMax;
  const auto memory = buffers.planes.get(all_stream_bytes(*plane, kChunk));
  const StreamPointers<std::uint8_t> streams(*plane, memory.data(), kChunk, 0);
  std::size_t used = 0;
  for (std::size_t k = 0; k < stream_count(*plane); ++k) {
    const std::size_t bytes =
        huffman_encode({streams.at[k], stream_bytes(*plane, k, count)},
                       payload.subspan(used + sizeof(std::uint32_t)), buffers.huffman);
    store_le(payload, used, static_cast<std::uint32_t>(bytes));
    used += sizeof(std::uint32_t) + bytes;
  }
  return used;
}

// Decodes the streams of all elements to buffers.planes, one behind the other.
Decoded<void> ValueCoder::decode_chunks(std::span<const std::byte> payload, const Layout& layout,
                                        std::size_t count, Workspace::Buffers& buffers) const {
  std::size_t at = layout.fixed_bytes;
  const Plane* plane = coded_plane(*quantiser_);
  if (plane != nullptr) {
    const auto memory = buffers.planes.get(all_stream_bytes(*plane, count));
    for (std::size_t first = 0; first < count; first += kHuffmanSymbolsMax) {
      const std::size_t in_chunk = std::min(kHuffmanSymbolsMax, count - first);
      const StreamPointers<std::uint8_t> streams(*plane, memory.data(), count, first);
      for (std::size_t k = 0; k < stream_count(*plane); ++k) {
        if (payload.size() - at < sizeof(std::uint32_t)) {
          return Unexpected{DecodeError{"payload ends inside a chunk's length", at}};
        }
        const auto bytes = load_le<std::uint32_t>(payload, at);
        at += sizeof(std::uint32_t);
        if (payload.size() - at < bytes) {
          return Unexpected{DecodeError{"payload ends inside a chunk", at}};
        }
        const auto decoded =
            huffman_decode(payload.subspan(at, bytes),
                           {streams.at[k], stream_bytes(*plane, k, in_chunk)}, buffers.huffman);
        if (!decoded) {
          return Unexpected{DecodeError{decoded.error().what, at + decoded.error().byte_offset}};
        }
        at += bytes;
      }
    }
  }
  if (at != payload.size()) {
    return Unexpected{DecodeError{"payload goes on behind its last chunk", at}};
  }
  return {};
}

template <class DecodeBlocks>
Decoded<void> ValueCoder::decode_with(std::span<const std::byte> payload, std::size_t phase,
                                      std::span<float> target, Workspace& workspace,
                                      const DecodeBlocks& decode_block) const {
  if (target.empty()) {
    if (!payload.empty()) return Unexpected{DecodeError{"payload of no elements is not empty"}};
    return {};
  }
  Workspace::Buffers& buffers = workspace.buffers();
  const Layout layout = this->layout(phase, target.size());
  if (payload.size() < layout.fixed_bytes) {
    return Unexpected{DecodeError{"payload is too short for its elements", payload.size()}};
  }
  if (entropy_) {
    const auto decoded = decode_chunks(payload, layout, target.size(), buffers);
    if (!decoded) return decoded;
  } else if (payload.size() > layout.fixed_bytes) {
    return Unexpected{DecodeError{"payload is too long for its elements", layout.fixed_bytes}};
  }

  const auto scales = buffers.scales.get(layout.scales);
  std::ranges::copy(payload.first(scales.size_bytes()), std::as_writable_bytes(scales).begin());
  const auto planes = quantiser_->planes();
  std::size_t read[kPlanesMax] = {};  // bytes of each packed plane
  // Brings a plane of the block to its place, and says where it came from.
  const auto get_plane = [&](std::size_t p, std::size_t offset, std::size_t count) {
    if (entropy_ && is_entropy_coded(planes[p])) {
      const auto memory = buffers.planes.get(all_stream_bytes(planes[p], target.size()));
      const StreamPointers<const std::uint8_t> streams(planes[p], memory.data(), target.size(),
                                                       offset);
      join(planes[p], count, streams.at, buffers.block);
      return std::as_bytes(std::span(streams.at[0], count));
    }
    const auto packed =
        payload.subspan(layout.plane_offset[p] + read[p], packed_block_bytes(planes[p], count));
    unpack(planes[p], count, packed, buffers.block);
    read[p] += packed.size();
    return packed;
  };
  kernel::for_blocks(target, [&](std::size_t offset, std::span<float> values, kernel::Ahead ahead) {
    const auto first_plane = get_plane(0, offset, values.size());
    ahead.bytes = first_plane.data() + first_plane.size();
    ahead.bytes_per_64 = first_plane.size() * 64 / values.size();
    for (std::size_t p = 1; p < planes.size(); ++p) {
      get_plane(p, offset, values.size());
    }
    decode_block(
        Quantiser::DecodeBlock{
            .first = phase + offset, .scales = scales, .target = values, .ahead = ahead},
        buffers.block);
  });
  return {};
}

Decoded<void> ValueCoder::decode(std::span<const std::byte> payload, std::size_t phase,
                                 std::span<float> target, Workspace& workspace) const {
  return decode_with(payload, phase, target, workspace,
                     [&](const Quantiser::DecodeBlock& block, const BlockSymbols& symbols) {
                       quantiser_->decode(symbols, block);
                     });
}

Decoded<void> ValueCoder::decode_add(std::span<const std::byte> payload, std::size_t phase,
                                     float weight, std::span<float> target,
                                     Workspace& workspace) const {
  return decode_with(payload, phase, target, workspace,
                     [&](const Quantiser::DecodeBlock& block, const BlockSymbols& symbols) {
                       quantiser_->decode_add(symbols, weight, block);
                     });
}

}  // namespace gradwire
