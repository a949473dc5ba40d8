// Parcel: what is inside a frame of an exchange. The weight of what was encoded, the length of each
// piece's payload, and the payloads. docs/wire_format.md has the bytes. Pure functions on bytes.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

#include "gradwire/core/bytes.h"
#include "gradwire/core/expected.h"

namespace gradwire {

inline constexpr std::size_t kParcelWeightBytes = 4;
inline constexpr std::size_t kParcelLengthBytes = 4;

constexpr std::size_t parcel_head_bytes(std::size_t pieces) {
  return kParcelWeightBytes + pieces * kParcelLengthBytes;
}

// Goes through the payloads of a parcel in their order. Refers to the bytes, and owns nothing.
class ParcelReader {
 public:
  ParcelReader() = default;

  // Refuses bytes that are no parcel of that many pieces.
  static Decoded<ParcelReader> open(std::span<const std::byte> bytes, std::size_t pieces);

  float weight() const { return load_le<float>(bytes_, 0); }

  // May be called as often as there are pieces.
  std::span<const std::byte> next() {
    const auto payload = bytes_.subspan(payload_at_, length(piece_++));
    payload_at_ += payload.size();
    return payload;
  }

 private:
  std::size_t length(std::size_t piece) const {
    return load_le<std::uint32_t>(bytes_, kParcelWeightBytes + piece * kParcelLengthBytes);
  }

  std::span<const std::byte> bytes_;
  std::size_t piece_ = 0;
  std::size_t payload_at_ = 0;
};

// For a parcel of so many bytes whose payloads have known lengths and may be elsewhere: checks the
// head alone, and returns the weight.
Decoded<float> check_parcel_head(std::span<const std::byte> head, std::size_t parcel_bytes,
                                 std::span<const std::size_t> lengths);

// Fills a parcel from the front: payloads are written to room(), and added by their length.
class ParcelWriter {
 public:
  ParcelWriter(std::span<std::byte> bytes, std::size_t pieces, float weight)
      : bytes_(bytes), payload_at_(parcel_head_bytes(pieces)) {
    store_le(bytes_, 0, weight);
  }

  std::span<std::byte> room() const { return bytes_.subspan(payload_at_); }

  void add(std::size_t bytes) {
    store_le(bytes_, kParcelWeightBytes + piece_++ * kParcelLengthBytes,
             static_cast<std::uint32_t>(bytes));
    payload_at_ += bytes;
  }

  // All that was written.
  std::span<const std::byte> bytes() const { return bytes_.first(payload_at_); }

 private:
  std::span<std::byte> bytes_;
  std::size_t piece_ = 0;
  std::size_t payload_at_;
};

}  // namespace gradwire
