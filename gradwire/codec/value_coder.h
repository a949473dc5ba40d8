// ValueCoder: a list of values to bytes and back, by a quantiser, with packing or entropy coding of
// its symbol planes. The dense codecs are this and no more; the sparse ones put indices in front.
// Stateless and thread-safe.
//
// Bytes of `count` values: the scales; then, packed, every plane in turn. With entropy coding the
// planes come as chunks instead: see entropy.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "gradwire/codec/buffers.h"
#include "gradwire/codec/codec.h"
#include "gradwire/codec/quantiser.h"

namespace gradwire {

class ValueCoder {
 public:
  ValueCoder(QuantiserPtr quantiser, bool entropy)
      : quantiser_(std::move(quantiser)), entropy_(entropy) {}

  const Quantiser& quantiser() const { return *quantiser_; }

  // True if the bytes are the values as they are.
  bool is_plain() const {
    return !entropy_ && quantiser_->planes().size() == 1 &&
           quantiser_->planes().front().kind == Plane::Kind::floats;
  }

  // Any `count` values, wherever in their bucket the first one lies, or as element `phase` of it.
  // Exact without entropy coding, if the phase is given.
  std::size_t bytes_max(std::size_t count) const {
    return bytes_max(count, quantiser_->bucket_elements() - 1);
  }
  std::size_t bytes_max(std::size_t count, std::size_t phase) const;

  // Writes the values as they will be decoded to `rounded`, unless it is empty. It may be the
  // memory of the slice.
  Encoded encode(const Slice& slice, const Scale::Facts& facts, const Rng& rng,
                 std::span<std::byte> payload, Workspace& workspace,
                 std::span<float> rounded = {}) const;

  // The first value is element `phase` of its bucket.
  Decoded<void> decode(std::span<const std::byte> payload, std::size_t phase,
                       std::span<float> target, Workspace& workspace) const;
  Decoded<void> decode_add(std::span<const std::byte> payload, std::size_t phase, float weight,
                           std::span<float> target, Workspace& workspace) const;

 private:
  struct Layout;
  Layout layout(std::size_t phase, std::size_t count) const;
  template <class DecodeBlocks>
  Decoded<void> decode_with(std::span<const std::byte> payload, std::size_t phase,
                            std::span<float> target, Workspace& workspace,
                            const DecodeBlocks& decode_block) const;

  QuantiserPtr quantiser_;
  bool entropy_;
};

}  // namespace gradwire
