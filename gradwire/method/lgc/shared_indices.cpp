#include "gradwire/method/lgc/shared_indices.h"

#include <algorithm>
#include <cmath>

#include "gradwire/codec/spec.h"
#include "gradwire/core/bytes.h"
#include "gradwire/core/check.h"

namespace gradwire {
namespace {

constexpr std::size_t kLengthBytes = 4;

constexpr float kLargest = 32;  // that a code need follow

struct IndexAndUnit {
  std::uint32_t index = 0;
  float unit = 0;
};

}  // namespace

float in_units(float value, float unit) { return std::clamp(value / unit, -kLargest, kLargest); }

std::vector<float> pick(const SharedIndices& indices, std::span<const float> values) {
  std::vector<float> picked(indices.size());
  for (std::size_t i = 0; i < picked.size(); ++i) {
    picked[i] = in_units(values[indices.at[i]], indices.units[i]);
  }
  return picked;
}

IndexMessage::IndexMessage(std::vector<std::size_t> elements, double share,
                           const std::string& values)
    : elements_(std::move(elements)),
      share_(share),
      codec_(make_codec("topk(" + format_share(share) + ") | " + values)) {
  for (const std::size_t layer : elements_) decoded_.resize(std::max(decoded_.size(), layer));
}

std::size_t IndexMessage::indices_max() const {
  std::size_t most = 0;
  for (const std::size_t elements : elements_) most += indices_max(elements);
  return most;
}

std::size_t IndexMessage::bytes_max() const {
  std::size_t bytes = 0;
  for (const std::size_t elements : elements_) {
    bytes += kLengthBytes + codec_->payload_bytes_max(elements);
  }
  return bytes;
}

IndexMessage::Written IndexMessage::write(std::span<const float> values, const Rng& rng) {
  Written message{.bytes = std::vector<std::byte>(bytes_max())};
  std::size_t end = 0;
  std::size_t first = 0;
  for (std::size_t layer = 0; layer < elements_.size(); ++layer) {
    const auto part = values.subspan(first, elements_[layer]);
    Rng own = rng;
    own.tensor += layer;
    codec_->measure(part, own, scale_);
    const auto room = std::span(message.bytes).subspan(end + kLengthBytes);
    const Encoded encoded =
        codec_->encode(scale_, {.values = part, .first = 0}, own, room, workspace_);
    store_le(std::span(message.bytes), end, static_cast<std::uint32_t>(encoded.bytes));
    message.is_finite = message.is_finite && scale_.is_finite() && encoded.finite;
    end += kLengthBytes + encoded.bytes;
    first += part.size();
  }
  GW_CHECK(first == values.size());
  message.bytes.resize(end);
  return message;
}

Decoded<SharedIndices> IndexMessage::read(std::span<const std::byte> message) {
  SharedIndices indices;
  std::size_t at = 0;
  std::size_t first = 0;
  for (const std::size_t elements : elements_) {
    if (message.size() - at < kLengthBytes)
      return Unexpected{DecodeError{"it ends within a length", at}};
    const auto length = load_le<std::uint32_t>(message, at);
    at += kLengthBytes;
    if (message.size() - at < length) return Unexpected{DecodeError{"it ends within a layer", at}};
    const auto layer = std::span(decoded_).first(elements);
    const auto decoded = codec_->decode(message.subspan(at, length), layer, workspace_);
    if (!decoded)
      return Unexpected{DecodeError{decoded.error().what, at + decoded.error().byte_offset}};
    at += length;
    std::vector<IndexAndUnit> some;
    for (std::size_t i = 0; i < elements; ++i) {
      if (!std::isnormal(layer[i])) continue;
      some.push_back({static_cast<std::uint32_t>(first + i), layer[i]});
    }
    if (some.size() > indices_max(elements)) {
      return Unexpected{DecodeError{"it has more indices than the share allows", at}};
    }
    // The largest units first, and equals by index.
    std::ranges::stable_sort(some, std::ranges::greater{},
                             [](const IndexAndUnit& one) { return std::abs(one.unit); });
    for (const IndexAndUnit& one : some) {
      indices.at.push_back(one.index);
      indices.units.push_back(one.unit);
    }
    first += elements;
  }
  if (at != message.size()) return Unexpected{DecodeError{"bytes follow the last layer", at}};
  return indices;
}

}  // namespace gradwire
