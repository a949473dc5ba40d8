#include "gradwire/file/npy.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>

#include "gradwire/core/bytes.h"
#include "gradwire/core/error.h"
#include "gradwire/file/tensor.h"

namespace gradwire {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kMajorVersionAt = kMagic.size();
constexpr std::size_t kMinorVersionAt = kMajorVersionAt + 1;
constexpr std::size_t kHeaderBytesAt = kMinorVersionAt + 1;
constexpr std::size_t kDataAlignment = 64;

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Reads the header, which is a Python dictionary with three keys in any order. Methods return
// whether they succeeded; the first failure is kept.
class HeaderReader {
 public:
  explicit HeaderReader(std::string_view text) : text_(text) {}

  bool dictionary() {
    if (!take('{')) return fail("expected '{' at the start of the header");
    while (!take('}')) {
      if (!entry()) return false;
      if (!take(',') && !at('}')) return fail("expected ',' or '}' in the header");
    }
    skip_space();
    if (position_ != text_.size()) return fail("more in the header than one dictionary");
    if (!type_seen_ || !fortran_order_ || !shape_) {
      return fail("the header lacks 'descr', 'fortran_order' or 'shape'");
    }
    return true;
  }

  bool fortran_order() const { return *fortran_order_; }
  std::vector<std::uint64_t>& shape() { return *shape_; }
  const DecodeError& error() const { return error_; }

 private:
  bool entry() {
    skip_space();
    const std::size_t key_position = position_;
    const std::optional<std::string_view> key = take_string();
    if (!key) return fail("expected a key in quotes");
    if (!take(':')) return fail("expected ':' after the key");
    skip_space();
    if (*key == "descr" && !type_seen_) return read_type();
    if (*key == "fortran_order" && !fortran_order_) return read_fortran_order();
    if (*key == "shape" && !shape_) return read_shape();
    position_ = key_position;
    return fail("unknown or repeated key");
  }

  bool read_type() {
    const std::size_t start = position_;
    type_seen_ = take_string() == "<f4";
    if (type_seen_) return true;
    position_ = start;
    return fail("the elements are not little-endian float32: convert them with astype('<f4')");
  }

  bool read_fortran_order() {
    if (take_word("False")) {
      fortran_order_ = false;
    } else if (take_word("True")) {
      fortran_order_ = true;
    }
    return fortran_order_ || fail("'fortran_order' must be True or False");
  }

  bool read_shape() {
    if (!take('(')) return fail("'shape' must be a tuple");
    std::vector<std::uint64_t> shape;
    bool comma = true;
    while (!take(')')) {
      if (!comma) return fail("expected ',' or ')' in 'shape'");
      if (shape.size() == kTensorDimensionsMax) return fail("'shape' has too many dimensions");
      if (!take_integer(shape.emplace_back())) {
        return fail("'shape' must hold whole numbers that fit 64 bits");
      }
      comma = take(',');
    }
    if (shape.size() == 1 && !comma) return fail("'shape' must be a tuple");
    shape_ = std::move(shape);
    return true;
  }

  std::optional<std::string_view> take_string() {
    skip_space();
    if (!at('\'') && !at('"')) return std::nullopt;
    const std::size_t end = text_.find(text_[position_], position_ + 1);
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view content = text_.substr(position_ + 1, end - position_ - 1);
    position_ = end + 1;
    return content;
  }

  bool take_integer(std::uint64_t& value) {
    skip_space();
    const char* const start = text_.data() + position_;
    const auto [end, error] = std::from_chars(start, text_.data() + text_.size(), value);
    if (error != std::errc()) return false;
    position_ += static_cast<std::size_t>(end - start);
    return true;
  }

  bool take_word(std::string_view word) {
    if (!text_.substr(position_).starts_with(word)) return false;
    position_ += word.size();
    return true;
  }

  bool take(char c) {
    skip_space();
    if (!at(c)) return false;
    ++position_;
    return true;
  }

  bool at(char c) const { return position_ < text_.size() && text_[position_] == c; }

  void skip_space() {
    position_ = std::min(text_.find_first_not_of(" \t\r\n", position_), text_.size());
  }

  bool fail(const char* what) {
    error_ = {what, position_};
    return false;
  }

  std::string_view text_;
  std::size_t position_ = 0;
  bool type_seen_ = false;
  std::optional<bool> fortran_order_;
  std::optional<std::vector<std::uint64_t>> shape_;
  DecodeError error_;
};

// The header's text; its place follows from where it starts.
Decoded<std::span<const std::byte>> find_header(std::span<const std::byte> bytes) {
  const std::string_view start = as_text(bytes.first(std::min(bytes.size(), kMagic.size())));
  if (start != kMagic.substr(0, start.size())) {
    return Unexpected{DecodeError{"no .npy file: its magic number is missing", 0}};
  }
  const DecodeError ends_early = {"the file ends within its header", bytes.size()};
  if (bytes.size() < kHeaderBytesAt + sizeof(std::uint16_t)) return Unexpected{ends_early};
  const auto major = load_le<std::uint8_t>(bytes, kMajorVersionAt);
  const auto minor = load_le<std::uint8_t>(bytes, kMinorVersionAt);
  if (major < 1 || major > 3 || minor != 0) {
    return Unexpected{DecodeError{"not version 1.0, 2.0 or 3.0 of .npy", kMajorVersionAt}};
  }
  std::size_t header_bytes = load_le<std::uint16_t>(bytes, kHeaderBytesAt);
  std::size_t header_at = kHeaderBytesAt + sizeof(std::uint16_t);
  if (major >= 2) {
    if (bytes.size() < kHeaderBytesAt + sizeof(std::uint32_t)) return Unexpected{ends_early};
    header_bytes = load_le<std::uint32_t>(bytes, kHeaderBytesAt);
    header_at = kHeaderBytesAt + sizeof(std::uint32_t);
  }
  if (header_bytes > bytes.size() - header_at) return Unexpected{ends_early};
  return bytes.subspan(header_at, header_bytes);
}

}  // namespace

Decoded<NpyView> parse_npy(std::span<const std::byte> bytes) {
  const Decoded<std::span<const std::byte>> header = find_header(bytes);
  if (!header) return Unexpected{header.error()};
  const auto header_at = static_cast<std::size_t>(header->data() - bytes.data());
  HeaderReader reader(as_text(*header));
  if (!reader.dictionary()) {
    return Unexpected{DecodeError{reader.error().what, header_at + reader.error().byte_offset}};
  }
  if (reader.fortran_order() && reader.shape().size() > 1) {
    return Unexpected{DecodeError{
        "the elements are in Fortran order: convert them with numpy.ascontiguousarray", header_at}};
  }
  const std::size_t data_at = header_at + header->size();
  const std::uint64_t data_elements = (bytes.size() - data_at) / sizeof(float);
  const std::optional<std::uint64_t> elements = shape_elements(reader.shape());
  if (!elements)
    return Unexpected{DecodeError{"the shape has more elements than fit 64 bits", header_at}};
  if (*elements > data_elements) {
    return Unexpected{
        DecodeError{"the file ends before the elements of its shape do", bytes.size()}};
  }
  const std::size_t data_bytes = static_cast<std::size_t>(*elements) * sizeof(float);
  if (data_bytes != bytes.size() - data_at) {
    return Unexpected{DecodeError{"more bytes than the shape has elements", data_at + data_bytes}};
  }
  return NpyView{std::move(reader.shape()), bytes.subspan(data_at)};
}

std::vector<std::byte> npy_header(std::span<const std::uint64_t> shape) {
  if (shape.size() > kTensorDimensionsMax) {
    throw Error(".npy: a tensor of " + std::to_string(shape.size()) + " dimensions has more than " +
                std::to_string(kTensorDimensionsMax));
  }
  std::string text = "{'descr': '<f4', 'fortran_order': False, 'shape': (";
  for (std::size_t i = 0; i < shape.size(); ++i) {
    text += (i == 0 ? "" : " ") + std::to_string(shape[i]) + (i + 1 < shape.size() ? "," : "");
  }
  text += shape.size() == 1 ? ",), }" : "), }";
  constexpr std::size_t kTextAt = kHeaderBytesAt + sizeof(std::uint16_t);
  const std::size_t unpadded_bytes = kTextAt + text.size() + 1;
  text.append((kDataAlignment - unpadded_bytes % kDataAlignment) % kDataAlignment, ' ');
  text += '\n';

  std::vector<std::byte> header(kTextAt + text.size());
  std::copy_n(std::as_bytes(std::span(kMagic)).begin(), kMagic.size(), header.begin());
  store_le(std::span(header), kMajorVersionAt, std::uint8_t{1});
  store_le(std::span(header), kMinorVersionAt, std::uint8_t{0});
  store_le(std::span(header), kHeaderBytesAt, static_cast<std::uint16_t>(text.size()));
  std::copy_n(std::as_bytes(std::span(text)).begin(), text.size(), header.begin() + kTextAt);
  return header;
}

}  // namespace gradwire
