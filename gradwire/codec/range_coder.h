// A range coder: arithmetic coding of symbols whose shares are integers, byte by byte. The encoder
// and the decoder see the same shares, so they compute the same ranges. Integers only: the same
// bytes on every machine. Value types, for one thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace gradwire {

// The shares of a symbol must add up to at most this.
inline constexpr std::uint32_t kRangeTotalMax = 1u << 18;

// The probability of a zero bit, in 1/65536, as learned from the bits so far. The first bits count
// most, and every bit at least one part in 64.
class AdaptiveBit {
 public:
  static constexpr unsigned kBits = 16;

  std::uint32_t zeros() const { return zeros_; }
  void learn(bool bit) {
    seen_ = static_cast<std::uint8_t>(std::min(seen_ + 1, 6));
    const std::uint32_t zeros =
        bit ? zeros_ - (zeros_ >> seen_) : zeros_ + (((1u << kBits) - zeros_) >> seen_);
    zeros_ = std::clamp(zeros, kLeast, (1u << kBits) - kLeast);
  }

  // To two bytes' worth of a number and back; any number gives a valid model.
  std::uint32_t save() const { return zeros_ << 8 | seen_; }
  void load(std::uint32_t saved) {
    zeros_ = std::clamp(saved >> 8, kLeast, (1u << kBits) - kLeast);
    seen_ = static_cast<std::uint8_t>(std::min(saved & 0xffu, 6u));
  }

 private:
  static constexpr std::uint32_t kLeast = 256;

  std::uint32_t zeros_ = 1u << (kBits - 1);
  std::uint8_t seen_ = 0;
};

// Writes to memory of the caller. What does not fit is left out, and finish() says so.
class RangeEncoder {
 public:
  explicit RangeEncoder(std::span<std::byte> out) : out_(out) {}

  // A symbol that has `size` of `total` shares, behind `before` shares of other symbols.
  void put(std::uint32_t before, std::uint32_t size, std::uint32_t total) {
    range_ /= total;
    low_ += std::uint64_t{range_} * before;
    range_ *= size;
    settle();
  }
  void put_bit(bool bit, const AdaptiveBit& model) { put_bit(bit, model.zeros()); }
  // With the probability of a zero in 1/65536, which is neither 0 nor 65536.
  void put_bit(bool bit, std::uint32_t zeros) {
    const std::uint32_t bound = (range_ >> AdaptiveBit::kBits) * zeros;
    if (bit) {
      low_ += bound;
      range_ -= bound;
    } else {
      range_ = bound;
    }
    settle();
  }

  // Returns the number of bytes written, or nothing if there was too little room. The decoder reads
  // zeros behind the last byte, so zeros at the end are left out.
  std::optional<std::size_t> finish() {
    // The number of [low, low + range) with the most zeros at its end.
    const std::uint64_t last = low_ + range_ - 1;
    for (unsigned bits = 33; bits-- > 0;) {
      const std::uint64_t rounded = last >> bits << bits;
      if (rounded < low_) continue;
      low_ = rounded;
      break;
    }
    for (int i = 0; i < 5; ++i) shift();
    if (bytes_ > out_.size()) return std::nullopt;
    while (bytes_ > 0 && out_[bytes_ - 1] == std::byte{0}) --bytes_;
    return bytes_;
  }

 private:
  void settle() {
    while (range_ < (1u << 24)) {
      range_ <<= 8;
      shift();
    }
  }
  // The top byte of `low` leaves, unless a carry may still change it: then it waits.
  void shift() {
    if (static_cast<std::uint32_t>(low_) < 0xff000000u || low_ >> 32 != 0) {
      const auto carry = static_cast<std::uint8_t>(low_ >> 32);
      for (; waiting_ > 0; --waiting_) {
        write(static_cast<std::uint8_t>(held_ + carry));
        held_ = 0xff;
      }
      held_ = static_cast<std::uint8_t>(low_ >> 24);
    }
    ++waiting_;
    low_ = (low_ & 0x00ffffffu) << 8;
  }
  void write(std::uint8_t byte) {
    if (is_first_) {  // always 0
      is_first_ = false;
      return;
    }
    if (bytes_ < out_.size()) out_[bytes_] = std::byte{byte};
    ++bytes_;
  }

  std::span<std::byte> out_;
  std::size_t bytes_ = 0;
  std::uint64_t low_ = 0;
  std::uint32_t range_ = 0xffffffffu;
  std::uint8_t held_ = 0;
  std::uint64_t waiting_ = 1;  // held_, and bytes of 0xff behind it
  bool is_first_ = true;
};

// Decodes any bytes to some symbols; what lies behind the end reads as zero.
class RangeDecoder {
 public:
  explicit RangeDecoder(std::span<const std::byte> in) : in_(in) {
    for (int i = 0; i < 4; ++i) code_ = code_ << 8 | next();
  }

  // The share that was coded, below `total`; then take() with the symbol that has it.
  std::uint32_t share(std::uint32_t total) {
    range_ /= total;
    return std::min(code_ / range_, total - 1);
  }
  void take(std::uint32_t before, std::uint32_t size) {
    code_ -= range_ * before;
    range_ *= size;
    settle();
  }
  bool bit(const AdaptiveBit& model) { return bit(model.zeros()); }
  bool bit(std::uint32_t zeros) {
    const std::uint32_t bound = (range_ >> AdaptiveBit::kBits) * zeros;
    const bool bit = code_ >= bound;
    if (bit) {
      code_ -= bound;
      range_ -= bound;
    } else {
      range_ = bound;
    }
    settle();
    return bit;
  }

  // Bytes that were needed, or more than there are.
  std::size_t bytes_read() const { return read_; }

 private:
  void settle() {
    while (range_ < (1u << 24)) {
      range_ <<= 8;
      code_ = code_ << 8 | next();
    }
  }
  std::uint32_t next() {
    const std::size_t at = read_++;
    return at < in_.size() ? std::to_integer<std::uint32_t>(in_[at]) : 0;
  }

  std::span<const std::byte> in_;
  std::size_t read_ = 0;
  std::uint32_t code_ = 0;
  std::uint32_t range_ = 0xffffffffu;
};

}  // namespace gradwire
