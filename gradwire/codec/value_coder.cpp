#include "gradwire/codec/value_coder.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "gradwire/codec/entropy.h"
#include "gradwire/core/check.h"
#include "gradwire/kernel/copy.h"

namespace gradwire {
namespace {

// Payloads of this size are written past the caches: they would not stay there anyway.
constexpr std::size_t kStreamedBytes = 2 << 20;

}  // namespace

// Where everything of fixed size lies in the payload.
struct ValueCoder::Layout {
  std::size_t scales = 0;  // their number
  std::size_t plane_offset[kPlanesMax] = {};
  std::size_t fixed_bytes = 0;  // scales and packed planes; or scales, and chunks follow
};

ValueCoder::Layout ValueCoder::layout(std::size_t phase, std::size_t count) const {
  Layout layout{.scales = quantiser_->scale_count(phase, count)};
  layout.fixed_bytes = layout.scales * sizeof(float);
  const auto planes = quantiser_->planes();
  GW_CHECK(planes.size() <= kPlanesMax);
  for (std::size_t p = 0; p < planes.size(); ++p) {
    if (entropy_) break;
    layout.plane_offset[p] = layout.fixed_bytes;
    layout.fixed_bytes += packed_bytes(planes[p], count);
  }
  return layout;
}

std::size_t ValueCoder::bytes_max(std::size_t count, std::size_t phase) const {
  if (count == 0) return 0;
  const std::size_t bytes = layout(phase, count).fixed_bytes;
  return entropy_ ? bytes + entropy_bytes_max(quantiser_->planes(), count) : bytes;
}

Encoded ValueCoder::encode(const Slice& slice, const Scale::Facts& facts, const Rng& rng,
                           std::span<std::byte> payload, Workspace& workspace,
                           std::span<float> rounded) const {
  if (slice.count == 0) return {};
  GW_CHECK(rounded.empty() || rounded.size() == slice.count);
  const std::size_t phase = slice.begin % quantiser_->bucket_elements();
  GW_CHECK(payload.size() >= bytes_max(slice.count, phase));
  Workspace::Buffers& buffers = workspace.buffers();
  const Layout layout = this->layout(phase, slice.count);
  const auto planes = quantiser_->planes();
  const auto scales = buffers.scales.get(layout.scales);
  const RandomStream random = rng.stream(kQuantiserStage, slice.position + slice.begin);
  const bool streamed = layout.fixed_bytes >= kStreamedBytes;

  Encoded encoded{.bytes = layout.fixed_bytes};
  std::size_t written[kPlanesMax] = {};  // bytes of each packed plane
  const auto put_plane = [&](std::size_t p, std::size_t count) {
    const auto packed = pack(planes[p], count, buffers.block);
    std::byte* target = payload.data() + layout.plane_offset[p] + written[p];
    if (streamed) {
      kernel::copy_streamed(packed, target);
    } else {
      std::memcpy(target, packed.data(), packed.size());
    }
    written[p] += packed.size();
  };
  std::optional<EntropyEncoder> entropy;
  if (entropy_) entropy.emplace(planes, buffers);
  kernel::for_blocks(
      slice.values.subspan(slice.begin, slice.count),
      [&](std::size_t offset, std::span<const float> values, const kernel::Ahead& ahead) {
        const Quantiser::EncodeBlock block{.slice = slice,
                                           .offset = offset,
                                           .count = values.size(),
                                           .facts = facts,
                                           .scales = scales,
                                           .random = random.advanced(offset),
                                           .ahead = ahead};
        encoded.finite &= quantiser_->encode(block, buffers.block);
        if (!rounded.empty()) {  // packing and entropy coding lose nothing, but change the block
          quantiser_->decode(buffers.block, {.first = phase + offset,
                                             .scales = scales,
                                             .target = rounded.subspan(offset, values.size()),
                                             .ahead = {}});
        }
        if (!entropy) {
          for (std::size_t p = 0; p < planes.size(); ++p) put_plane(p, values.size());
          return;
        }
        entropy->add(values.size());
        const bool is_last = offset + values.size() == slice.count;
        if (is_last || entropy->is_chunk_full()) {
          encoded.bytes += entropy->write_chunk(payload.subspan(encoded.bytes));
        }
      });
  if (streamed) kernel::finish_streamed();
  std::ranges::copy(std::as_bytes(scales), payload.begin());
  return encoded;
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
  std::optional<EntropyDecoder> entropy;
  if (entropy_) {
    entropy.emplace(quantiser_->planes(), target.size(), buffers);
    const auto decoded = entropy->read(payload, layout.fixed_bytes);
    if (!decoded) return decoded;
  } else if (payload.size() > layout.fixed_bytes) {
    return Unexpected{DecodeError{"payload is too long for its elements", layout.fixed_bytes}};
  }

  const auto scales = buffers.scales.get(layout.scales);
  std::ranges::copy(payload.first(scales.size_bytes()), std::as_writable_bytes(scales).begin());
  const auto planes = quantiser_->planes();
  std::size_t read[kPlanesMax] = {};  // bytes of each packed plane
  // These bring the planes of a block to their place, and say where the next block's first one is.
  const auto unpack_block = [&](std::size_t count) {
    for (std::size_t p = 0; p < planes.size(); ++p) {
      const std::size_t bytes = packed_block_bytes(planes[p], count);
      unpack(planes[p], count, payload.subspan(layout.plane_offset[p] + read[p], bytes),
             buffers.block);
      read[p] += bytes;
    }
    return static_cast<const void*>(payload.data() + layout.plane_offset[0] + read[0]);
  };
  const auto get_block = [&](std::size_t offset, std::size_t count) {
    return entropy ? static_cast<const void*>(entropy->take(offset, count)) : unpack_block(count);
  };
  kernel::for_blocks(target, [&](std::size_t offset, std::span<float> values, kernel::Ahead ahead) {
    ahead.bytes = get_block(offset, values.size());
    ahead.bytes_per_64 =
        entropy ? 64 : packed_block_bytes(planes[0], values.size()) * 64 / values.size();
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
