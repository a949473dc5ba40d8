#include "gradwire/method/lgc/shared_indices.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "gradwire/codec/rice.h"
#include "gradwire/codec/selection.h"
#include "gradwire/codec/spec.h"
#include "gradwire/core/bytes.h"
#include "gradwire/core/check.h"
#include "gradwire/core/error.h"
#include "gradwire/wire/frame.h"

namespace gradwire {
namespace {

constexpr std::size_t kHeadBytes = 1 + 4;
constexpr std::size_t kLengthBytes = 4;
constexpr std::byte kWithoutHistory{0};
constexpr std::byte kWithHistory{1};

constexpr float kLargest = 32;  // that a code need follow

struct IndexAndUnit {
  std::uint32_t index = 0;
  float unit = 0;
};

std::size_t saved_bytes(const std::variant<IndexHistory, KernelHistory>& history) {
  return std::visit([](const auto& one) { return one.saved_bytes(); }, history);
}

}  // namespace

float in_units(float value, float unit) { return std::clamp(value / unit, -kLargest, kLargest); }

std::vector<float> pick(const SharedIndices& indices, std::span<const float> values) {
  std::vector<float> picked(indices.size());
  for (std::size_t i = 0; i < picked.size(); ++i) {
    picked[i] = in_units(values[indices.at[i]], indices.units[i]);
  }
  return picked;
}

// A message: how indices are coded (1 byte), how many bytes they take (4), the indices of all
// layers; then, layer by layer, the bytes of the values (4) and the values.
IndexMessage::IndexMessage(std::vector<LayerShape> layers, double share, const std::string& values)
    : layers_(std::move(layers)),
      largest_(make_codec("topk(" + format_share(share) + ")")),
      values_(make_codec(values)),
      indices_(layers_.size()) {
  bytes_max_ = kHeadBytes;
  std::size_t most = 0;
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const std::size_t kept = count_of_share(share, layers_[i].elements());
    indices_[i].resize(kept);
    histories_.push_back(new_history(i));
    indices_max_ += kept;
    most = std::max(most, kept);
    rice_bytes_max_ += rice_bytes_max(kept, layers_[i].elements());
    bytes_max_ += kLengthBytes + values_->payload_bytes_max(kept);
  }
  bytes_max_ += rice_bytes_max_;
  decoded_.resize(most);
}

IndexMessage::History IndexMessage::new_history(std::size_t layer) const {
  const LayerShape& shape = layers_[layer];
  const std::size_t kept = indices_[layer].size();
  if (!shape.is_coded_by_kernels()) return IndexHistory(shape.rows, shape.columns, kept);
  GW_CHECK(shape.columns % shape.kernel == 0);
  return KernelHistory({.rows = shape.rows,
                        .columns = shape.columns / shape.kernel,
                        .elements = shape.kernel,
                        .width = shape.width},
                       kept, model_);
}

IndexMessage::Written IndexMessage::write(std::span<const float> values, const Rng& rng) {
  Written message;
  std::vector<std::byte> coded;
  std::size_t first = 0;
  for (std::size_t layer = 0; layer < layers_.size(); ++layer) {
    const auto part = values.subspan(first, layers_[layer].elements());
    Rng own = rng;
    own.tensor += layer;
    largest_->measure(part, own, scale_);
    message.is_finite = message.is_finite && scale_.is_finite();
    if (!message.is_finite) return message;
    std::ranges::copy(kept_indices(scale_), indices_[layer].begin());
    const std::vector<float> kept(kept_values(scale_).begin(), kept_values(scale_).end());
    values_->measure(kept, own, scale_);
    const std::size_t end = coded.size();
    coded.resize(end + kLengthBytes + values_->payload_bytes_max(kept.size()));
    const Encoded encoded =
        values_->encode(scale_, {.values = kept, .first = 0}, own,
                        std::span(coded).subspan(end + kLengthBytes), workspace_);
    store_le(std::span(coded), end, static_cast<std::uint32_t>(encoded.bytes));
    coded.resize(end + kLengthBytes + encoded.bytes);
    first += part.size();
  }
  GW_CHECK(first == values.size());
  write_indices(message.bytes);
  message.bytes.insert(message.bytes.end(), coded.begin(), coded.end());
  return message;
}

// With the histories, unless they mislead: a message is never longer than without them.
void IndexMessage::write_indices(std::vector<std::byte>& message) {
  message.resize(kHeadBytes + rice_bytes_max_);
  const auto room = std::span(message).subspan(kHeadBytes);
  RangeEncoder encoder(room);
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    if (const auto* const kernels = std::get_if<KernelHistory>(&histories_[i])) {
      kernel_coder_.encode(*kernels, model_, indices_[i], encoder);
    } else {
      coder_.encode(std::get<IndexHistory>(histories_[i]), indices_[i], encoder);
    }
  }
  const std::optional<std::size_t> learned = encoder.finish();
  std::size_t bytes = learned.value_or(0);
  if (!learned) {
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      bytes += rice_encode(indices_[i], 0, layers_[i].elements(), room.subspan(bytes));
    }
  }
  message[0] = learned ? kWithHistory : kWithoutHistory;
  store_le(std::span(message), 1, static_cast<std::uint32_t>(bytes));
  message.resize(kHeadBytes + bytes);
}

// Returns how many bytes of the message they are.
Decoded<std::size_t> IndexMessage::read_indices(std::span<const std::byte> message) {
  if (message.size() < kHeadBytes) {
    return Unexpected{DecodeError{"it ends within its head", message.size()}};
  }
  const std::size_t bytes = load_le<std::uint32_t>(message, 1);
  if (message.size() - kHeadBytes < bytes) {
    return Unexpected{DecodeError{"it ends within its indices", message.size()}};
  }
  const auto coded = message.subspan(kHeadBytes, bytes);
  const auto refuse = [](const char* what) { return Unexpected{DecodeError{what, kHeadBytes}}; };
  if (message[0] == kWithHistory) {
    RangeDecoder decoder(coded);
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      const auto* const kernels = std::get_if<KernelHistory>(&histories_[i]);
      const auto decoded =
          kernels != nullptr
              ? kernel_coder_.decode(*kernels, model_, decoder, indices_[i])
              : coder_.decode(std::get<IndexHistory>(histories_[i]), decoder, indices_[i]);
      if (!decoded) return refuse(decoded.error().what);
    }
    const bool is_shortest = coded.empty() || coded.back() != std::byte{0};
    if (decoder.bytes_read() < coded.size() || !is_shortest)
      return refuse("bytes follow the indices");
  } else if (message[0] == kWithoutHistory) {
    std::size_t at = 0;
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      const auto used = rice_decode(coded.subspan(at), layers_[i].elements(), indices_[i]);
      if (!used) return refuse(used.error().what);
      at += *used;
    }
    if (at != coded.size()) return refuse("bytes follow the indices");
  } else {
    return Unexpected{DecodeError{"its indices are coded in an unknown way", 0}};
  }
  read_mark_ = static_cast<std::uint32_t>(checksum(coded));
  return kHeadBytes + bytes;
}

Decoded<SharedIndices> IndexMessage::read(std::span<const std::byte> message) {
  const auto head = read_indices(message);
  if (!head) return Unexpected{head.error()};
  SharedIndices shared;
  std::size_t at = *head;
  std::size_t first = 0;
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    if (message.size() - at < kLengthBytes)
      return Unexpected{DecodeError{"it ends within a length", at}};
    const auto length = load_le<std::uint32_t>(message, at);
    at += kLengthBytes;
    if (message.size() - at < length) return Unexpected{DecodeError{"it ends within a layer", at}};
    const auto values = std::span(decoded_).first(indices_[i].size());
    const auto decoded = values_->decode(message.subspan(at, length), values, workspace_);
    if (!decoded)
      return Unexpected{DecodeError{decoded.error().what, at + decoded.error().byte_offset}};
    at += length;
    std::vector<IndexAndUnit> some;
    for (std::size_t j = 0; j < values.size(); ++j) {
      if (!std::isnormal(values[j])) continue;
      some.push_back({static_cast<std::uint32_t>(first + indices_[i][j]), values[j]});
    }
    // The largest units first, and equals by index.
    std::ranges::stable_sort(some, std::ranges::greater{},
                             [](const IndexAndUnit& one) { return std::abs(one.unit); });
    for (const IndexAndUnit& one : some) {
      shared.at.push_back(one.index);
      shared.units.push_back(one.unit);
    }
    first += layers_[i].elements();
  }
  if (at != message.size()) return Unexpected{DecodeError{"bytes follow the last layer", at}};
  return shared;
}

// --- The history ---

void IndexMessage::record() {
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    if (const auto* const kernels = std::get_if<KernelHistory>(&histories_[i])) {
      kernels->learn(indices_[i], model_);
    }
  }
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    if (auto* const kernels = std::get_if<KernelHistory>(&histories_[i])) {
      kernels->record(indices_[i], model_);
    } else {
      std::get<IndexHistory>(histories_[i]).record(indices_[i]);
    }
  }
  const std::array marks = {mark_, read_mark_};
  mark_ = static_cast<std::uint32_t>(checksum(std::as_bytes(std::span(marks))));
}

std::vector<std::byte> IndexMessage::save() const {
  std::vector<std::byte> saved(sizeof(mark_));
  store_le(std::span(saved), 0, mark_);
  model_.save(saved);
  for (const History& history : histories_) {
    std::visit([&](const auto& one) { one.save(saved); }, history);
  }
  return saved;
}

void IndexMessage::load(std::span<const std::byte> saved) {
  const std::size_t histories_at = sizeof(mark_) + KernelModel::saved_bytes();
  std::size_t wanted = histories_at;
  for (const History& history : histories_) wanted += saved_bytes(history);
  if (saved.size() != wanted) {
    throw Error("the saved history of indices has " + std::to_string(saved.size()) +
                " bytes, not " + std::to_string(wanted));
  }
  KernelModel model;
  model.load(saved.subspan(sizeof(mark_), KernelModel::saved_bytes()));
  std::vector<History> loaded = histories_;
  std::size_t at = histories_at;
  for (History& history : loaded) {
    const auto part = saved.subspan(at, saved_bytes(history));
    auto* const kernels = std::get_if<KernelHistory>(&history);
    const auto fine = kernels != nullptr ? kernels->load(part, model)
                                         : std::get<IndexHistory>(history).load(part);
    if (!fine) throw Error(std::string("the saved history of indices: ") + fine.error().what);
    at += part.size();
  }
  histories_ = std::move(loaded);
  model_ = model;
  mark_ = load_le<std::uint32_t>(saved, 0);
}

void IndexMessage::forget() {
  model_ = KernelModel();
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    histories_[i] = new_history(i);
  }
  mark_ = 0;
}

std::size_t IndexMessage::memory_bytes() const {
  std::size_t bytes = 0;
  for (const History& history : histories_) {
    bytes += std::visit([](const auto& one) { return one.memory_bytes(); }, history);
  }
  return bytes;
}

}  // namespace gradwire
