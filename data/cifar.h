// The binary format of CIFAR-10: records of a label (1 byte, 0 to 9) and an image (3 channels of 32
// rows of 32 bytes). Pure functions on bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "data/refusal.h"

namespace gradwire::data {

inline constexpr std::size_t kCifarChannels = 3;
inline constexpr std::size_t kCifarSide = 32;
inline constexpr std::size_t kCifarClasses = 10;
inline constexpr std::size_t kCifarImageBytes = kCifarChannels * kCifarSide * kCifarSide;
inline constexpr std::size_t kCifarRecordBytes = 1 + kCifarImageBytes;
static_assert(kCifarRecordBytes == 3073);

class CifarView {
 public:
  std::size_t records() const { return bytes_.size() / kCifarRecordBytes; }
  std::uint8_t label(std::size_t record) const {
    return std::to_integer<std::uint8_t>(bytes_[record * kCifarRecordBytes]);
  }
  std::span<const std::byte> image(std::size_t record) const {
    return bytes_.subspan(record * kCifarRecordBytes + 1, kCifarImageBytes);
  }

 private:
  friend Readable<CifarView> parse_cifar(std::span<const std::byte> bytes);

  std::span<const std::byte> bytes_;  // whole records
};

// The bytes of a whole file, which has a record at least.
Readable<CifarView> parse_cifar(std::span<const std::byte> bytes);

}  // namespace gradwire::data
