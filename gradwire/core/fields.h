// Fields of a message or a file, one behind the other: numbers, texts with their length, lists with
// their count. For one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gradwire/core/bytes.h"
#include "gradwire/core/check.h"
#include "gradwire/core/expected.h"

namespace gradwire {

// Appends fields to the bytes it owns.
class FieldWriter {
 public:
  template <WireScalar T>
  void put(T value) {
    bytes_.resize(bytes_.size() + sizeof(T));
    store_le(std::span<std::byte>(bytes_), bytes_.size() - sizeof(T), value);
  }
  void put_bytes(std::span<const std::byte> bytes) {
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }
  void put_text(std::string_view text) {
    GW_CHECK(text.size() <= std::numeric_limits<std::uint32_t>::max());
    put(static_cast<std::uint32_t>(text.size()));
    put_bytes(std::as_bytes(std::span(text)));
  }
  void put_count(std::size_t count) { put(std::uint64_t{count}); }

  std::span<std::byte> bytes() { return bytes_; }
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

// Takes fields from the front of bytes that nobody vouches for. After the first failure, which it
// remembers, everything it gives is zero or empty.
class FieldReader {
 public:
  // What lies before `at` was read already; offsets of errors count from the start.
  FieldReader(std::span<const std::byte> bytes, std::size_t at) : bytes_(bytes), at_(at) {}

  std::span<const std::byte> take_bytes(std::uint64_t count) {
    if (count > bytes_.size() - at_) {
      fail("a field reaches beyond the end", at_);
      return {};
    }
    at_ += count;
    return bytes_.subspan(at_ - count, count);
  }
  template <WireScalar T>
  T take() {
    const std::span<const std::byte> field = take_bytes(sizeof(T));
    return field.empty() ? T{} : load_le<T>(field, 0);
  }
  std::string take_text() {
    const std::span<const std::byte> text = take_bytes(take<std::uint32_t>());
    return {reinterpret_cast<const char*>(text.data()), text.size()};
  }

  // Calls read() as often as the count says that comes first. Every read takes bytes, so that a
  // count which is too large ends where they do.
  template <class Read>
  void take_list(const Read& read) {
    for (auto left = take<std::uint64_t>(); left > 0 && !failed_; --left) read();
  }

  void fail(const char* what, std::size_t at) {
    if (!failed_) error_ = {what, at};
    failed_ = true;
    at_ = bytes_.size();
  }
  bool failed() const { return failed_; }
  const DecodeError& error() const { return error_; }
  std::size_t at() const { return at_; }

 private:
  std::span<const std::byte> bytes_;
  std::size_t at_;
  bool failed_ = false;
  DecodeError error_;
};

}  // namespace gradwire
