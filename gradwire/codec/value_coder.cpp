#include "gradwire/codec/value_coder.h"

#include <algorithm>
#include <cstring>

#include "gradwire/core/bytes.h"
#include "gradwire/core/check.h"
#include "gradwire/kernel/copy.h"
#include "gradwire/kernel/pack.h"

namespace gradwire {
namespace {

using kernel::kBlockElements;

constexpr std::size_t kPlanesMax = 2;
static_assert(EntropyCoder::kChunkSymbols % kBlockElements == 0);

// Payloads of this size are written past the caches: they would not stay there anyway.
constexpr std::size_t kStreamedBytes = 4 << 20;

bool is_entropy_coded(const Plane& plane) { return plane.kind != Plane::Kind::bits; }

// Bytes that one symbol takes before packing.
std::size_t symbol_bytes(const Plane& plane) {
  switch (plane.kind) {
    case Plane::Kind::symbols:
    case Plane::Kind::trits:
      return 1;
    case Plane::Kind::wide:
      return 2;
    case Plane::Kind::floats:
      return 4;
    case Plane::Kind::bits:
      break;
  }
  return 0;
}

// Of at most one block.
std::size_t packed_block_bytes(const Plane& plane, std::size_t count) {
  switch (plane.kind) {
    case Plane::Kind::symbols:
      return kernel::packed_bytes(count, plane.bits);
    case Plane::Kind::trits:
      return kernel::packed_trit_bytes(count);
    case Plane::Kind::bits:
      return kernel::packed_bytes(count, 1);
    case Plane::Kind::wide:
    case Plane::Kind::floats:
      break;
  }
  return count * symbol_bytes(plane);
}

std::size_t packed_plane_bytes(const Plane& plane, std::size_t count) {
  return count / kBlockElements * packed_block_bytes(plane, kBlockElements) +
         packed_block_bytes(plane, count % kBlockElements);
}

std::span<const std::byte> bytes_of(const void* memory, std::size_t bytes) {
  return {static_cast<const std::byte*>(memory), bytes};
}

// The block's packed bytes of one plane.
std::span<const std::byte> pack(const Plane& plane, std::size_t count, BlockSymbols& block) {
  const std::size_t bytes = packed_block_bytes(plane, count);
  switch (plane.kind) {
    case Plane::Kind::symbols:
      if (plane.bits == 8) return bytes_of(block.symbols, bytes);
      kernel::pack_bits(kernel::SymbolBlock(block.symbols), count, plane.bits,
                        kernel::SymbolBlock(block.packed));
      return bytes_of(block.packed, bytes);
    case Plane::Kind::trits:
      kernel::pack_trits(kernel::SymbolBlock(block.symbols), count,
                         kernel::SymbolBlock(block.packed));
      return bytes_of(block.packed, bytes);
    case Plane::Kind::bits:
      if (count % 8 != 0) {
        block.bits[count / 8] &= static_cast<std::uint8_t>((1u << count % 8) - 1);
      }
      return bytes_of(block.bits, bytes);
    case Plane::Kind::wide:
      return bytes_of(block.wide, bytes);
    case Plane::Kind::floats:
      break;
  }
  return bytes_of(block.floats, bytes);
}

void unpack(const Plane& plane, std::size_t count, std::span<const std::byte> packed,
            BlockSymbols& block) {
  switch (plane.kind) {
    case Plane::Kind::symbols:
      if (plane.bits == 8) {
        std::memcpy(block.symbols, packed.data(), packed.size());
        return;
      }
      std::memcpy(block.packed, packed.data(), packed.size());
      kernel::unpack_bits(kernel::ConstSymbolBlock(block.packed), count, plane.bits,
                          kernel::SymbolBlock(block.symbols));
      return;
    case Plane::Kind::trits:
      std::memcpy(block.packed, packed.data(), packed.size());
      kernel::unpack_trits(kernel::ConstSymbolBlock(block.packed), count,
                           kernel::SymbolBlock(block.symbols));
      return;
    case Plane::Kind::bits:
      std::memcpy(block.bits, packed.data(), packed.size());
      return;
    case Plane::Kind::wide:
      std::memcpy(block.wide, packed.data(), packed.size());
      return;
    case Plane::Kind::floats:
      std::memcpy(block.floats, packed.data(), packed.size());
      return;
  }
}

// The unpacked symbols of a plane, as bytes.
std::uint8_t* raw_symbols(const Plane& plane, BlockSymbols& block) {
  switch (plane.kind) {
    case Plane::Kind::wide:
      return reinterpret_cast<std::uint8_t*>(block.wide);
    case Plane::Kind::floats:
      return reinterpret_cast<std::uint8_t*>(block.floats);
    default:
      return block.symbols;
  }
}

// Byte k of every symbol goes to bytes[k * stride] on: one byte plane a byte.
void split_bytes(const std::uint8_t* symbols, std::size_t count, std::size_t width,
                 std::uint8_t* bytes, std::size_t stride) {
  if (width == 1) {
    std::memcpy(bytes, symbols, count);
    return;
  }
  for (std::size_t k = 0; k < width; ++k) {
    for (std::size_t j = 0; j < count; ++j) bytes[k * stride + j] = symbols[j * width + k];
  }
}

void join_bytes(const std::uint8_t* bytes, std::size_t stride, std::size_t count,
                std::size_t width, std::uint8_t* symbols) {
  if (width == 1) {
    std::memcpy(symbols, bytes, count);
    return;
  }
  for (std::size_t k = 0; k < width; ++k) {
    for (std::size_t j = 0; j < count; ++j) symbols[j * width + k] = bytes[k * stride + j];
  }
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
    layout.fixed_bytes += packed_plane_bytes(planes[p], count);
  }
  return layout;
}

std::size_t ValueCoder::bytes_max(std::size_t count) const {
  if (count == 0) return 0;
  std::size_t bytes = layout(quantiser_->bucket_elements() - 1, count).fixed_bytes;
  if (!entropy_) return bytes;
  const std::size_t chunks = (count - 1) / EntropyCoder::kChunkSymbols + 1;
  const std::size_t chunk = std::min(count, EntropyCoder::kChunkSymbols);
  for (const Plane& plane : quantiser_->planes()) {
    if (!is_entropy_coded(plane)) continue;
    bytes += symbol_bytes(plane) * chunks *
             (sizeof(std::uint32_t) + EntropyCoder::coded_bytes_max(chunk));
  }
  return bytes;
}

Encoded ValueCoder::encode(const Slice& slice, const Scale& scale, const Rng& rng,
                           std::uint32_t stage, std::span<std::byte> payload,
                           Workspace& workspace) const {
  if (slice.count == 0) return {};
  GW_CHECK(payload.size() >= bytes_max(slice.count));
  Workspace::Buffers& buffers = workspace.buffers();
  const Layout layout = this->layout(slice.begin % quantiser_->bucket_elements(), slice.count);
  const auto planes = quantiser_->planes();
  const auto scales = buffers.scales.get(layout.scales);
  const RandomStream random = rng.stream(stage, slice.position + slice.begin);
  const bool streamed = layout.fixed_bytes >= kStreamedBytes;
  if (entropy_) buffers.planes.get(sizeof(float) * EntropyCoder::kChunkSymbols);

  Encoded encoded{.bytes = layout.fixed_bytes};
  std::size_t written[kPlanesMax] = {};  // bytes of each packed plane
  std::size_t in_chunk = 0;              // elements that wait for entropy coding
  kernel::for_blocks(
      slice.values.subspan(slice.begin, slice.count),
      [&](std::size_t offset, std::span<const float> values, const kernel::Ahead& ahead) {
        const Quantiser::EncodeBlock block{slice,  offset,
                                           values.size(), scale,
                                           scales, random.advanced(offset),
                                           ahead};
        encoded.finite &= quantiser_->encode(block, buffers.block);
        for (std::size_t p = 0; p < planes.size(); ++p) {
          if (entropy_ && is_entropy_coded(planes[p])) {
            split_bytes(raw_symbols(planes[p], buffers.block), values.size(),
                        symbol_bytes(planes[p]),
                        buffers.planes.get(sizeof(float) * EntropyCoder::kChunkSymbols).data() +
                            in_chunk,
                        EntropyCoder::kChunkSymbols);
            continue;
          }
          const auto packed = pack(planes[p], values.size(), buffers.block);
          std::byte* target = payload.data() + layout.plane_offset[p] + written[p];
          if (streamed) {
            kernel::copy_streamed(packed, target);
          } else {
            std::memcpy(target, packed.data(), packed.size());
          }
          written[p] += packed.size();
        }
        in_chunk += values.size();
        const bool last = offset + values.size() == slice.count;
        if (entropy_ && (last || in_chunk == EntropyCoder::kChunkSymbols)) {
          encoded.bytes += encode_chunk(in_chunk, payload.subspan(encoded.bytes), buffers);
          in_chunk = 0;
        }
      });
  if (streamed) kernel::finish_streamed();
  std::memcpy(payload.data(), scales.data(), scales.size_bytes());
  return encoded;
}

std::size_t ValueCoder::encode_chunk(std::size_t count, std::span<std::byte> payload,
                                     Workspace::Buffers& buffers) const {
  const auto chunk = buffers.planes.get(sizeof(float) * EntropyCoder::kChunkSymbols);
  std::size_t used = 0;
  for (const Plane& plane : quantiser_->planes()) {
    if (!is_entropy_coded(plane)) continue;
    for (std::size_t k = 0; k < symbol_bytes(plane); ++k) {
      const auto symbols = chunk.subspan(k * EntropyCoder::kChunkSymbols, count);
      const std::size_t bytes =
          buffers.entropy.encode(symbols, payload.subspan(used + sizeof(std::uint32_t)));
      store_le(payload, used, static_cast<std::uint32_t>(bytes));
      used += sizeof(std::uint32_t) + bytes;
    }
  }
  return used;
}

// Decodes all symbols to buffers.planes: byte plane k of the one coded plane from k * count on.
Decoded<void> ValueCoder::decode_chunks(std::span<const std::byte> payload, const Layout& layout,
                                        std::size_t count, Workspace::Buffers& buffers) const {
  std::size_t at = layout.fixed_bytes;
  for (const Plane& plane : quantiser_->planes()) {
    if (!is_entropy_coded(plane)) continue;
    const std::size_t width = symbol_bytes(plane);
    const auto symbols = buffers.planes.get(width * count);
    for (std::size_t first = 0; first < count; first += EntropyCoder::kChunkSymbols) {
      const std::size_t in_chunk = std::min(EntropyCoder::kChunkSymbols, count - first);
      for (std::size_t k = 0; k < width; ++k) {
        if (payload.size() - at < sizeof(std::uint32_t)) {
          return Unexpected{DecodeError{"payload ends inside a chunk's length", at}};
        }
        const auto bytes = load_le<std::uint32_t>(payload, at);
        at += sizeof(std::uint32_t);
        if (payload.size() - at < bytes) {
          return Unexpected{DecodeError{"payload ends inside a chunk", at}};
        }
        const auto decoded = buffers.entropy.decode(payload.subspan(at, bytes),
                                                    symbols.subspan(k * count + first, in_chunk));
        if (!decoded) return Unexpected{DecodeError{decoded.error().what, at}};
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
  std::memcpy(scales.data(), payload.data(), scales.size_bytes());
  const auto planes = quantiser_->planes();
  std::size_t read[kPlanesMax] = {};  // bytes of each packed plane
  kernel::for_blocks(
      target, [&](std::size_t offset, std::span<float> values, kernel::Ahead ahead) {
        for (std::size_t p = 0; p < planes.size(); ++p) {
          if (entropy_ && is_entropy_coded(planes[p])) {
            const std::size_t width = symbol_bytes(planes[p]);
            join_bytes(buffers.planes.get(width * target.size()).data() + offset, target.size(),
                       values.size(), width, raw_symbols(planes[p], buffers.block));
            continue;
          }
          const std::size_t bytes = packed_block_bytes(planes[p], values.size());
          const std::byte* from = payload.data() + layout.plane_offset[p] + read[p];
          unpack(planes[p], values.size(), {from, bytes}, buffers.block);
          read[p] += bytes;
          if (p == 0) {
            ahead.bytes = from + bytes;
            ahead.byte_count = bytes;
          }
        }
        decode_block(Quantiser::DecodeBlock{phase + offset, scales, values, ahead},
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
