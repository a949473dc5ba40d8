#include "tests/simulate/step_exchange.h"

#include <algorithm>

#include "gradwire/core/check.h"

namespace gradwire::simulate {

StepExchange::StepExchange(Codecs& codecs, Route route, std::uint64_t world, std::uint64_t step,
                           std::size_t rank, std::size_t ranks)
    : codecs_(codecs),
      route_(route),
      world_(world),
      step_(step),
      rank_(rank),
      ranks_(ranks),
      ups_(ranks),
      results_(ranks) {}

StepExchange::Chunk StepExchange::chunk(std::size_t rank) const {
  if (route_ == Route::gather) return {0, kElements};
  const std::size_t first = kElements * rank / ranks_;
  return {first, kElements * (rank + 1) / ranks_ - first};
}

void StepExchange::encode(const Vector& values) {
  error_ = values;
  sent_.assign(kElements, 0);
  const std::size_t messages = route_ == Route::gather ? 1 : ranks_;
  const Direction direction = route_ == Route::gather ? Direction::hop : Direction::up;
  for (std::size_t receiver = 0; receiver < messages; ++receiver) {
    const Chunk part = chunk(receiver);
    messages_.push_back(make_frame(*codecs_.up, direction, part, values));
    if (part.count == 0) continue;
    const auto payload = std::span(*messages_.back()).subspan(kFrameHeaderBytes);
    const auto error = std::span(error_).subspan(part.first, part.count);
    const auto sent = std::span(sent_).subspan(part.first, part.count);
    GW_CHECK(codecs_.up->decode_add(payload, -1, error, codecs_.workspace).has_value());
    GW_CHECK(codecs_.up->decode(payload, sent, codecs_.workspace).has_value());
  }
}

Bytes StepExchange::frame_for(std::size_t rank) const {
  return messages_[route_ == Route::gather ? 0 : rank];
}

Bytes StepExchange::make_frame(const Codec& codec, Direction direction, Chunk part,
                               const Vector& values) {
  const auto range = std::span(values).subspan(part.first, part.count);
  std::vector<std::byte> payload(codec.payload_bytes_max(part.count));
  if (part.count > 0) {
    codec.measure(range, {}, codecs_.scale);
    payload.resize(codec.encode(codecs_.scale, {range, 0}, {}, payload, codecs_.workspace).bytes);
  } else {
    payload.clear();
  }
  std::vector<std::byte> bytes(kFrameHeaderBytes);
  write_frame_header({.run = world_,
                      .step = step_,
                      .exchange = 0,
                      .sender = static_cast<std::uint32_t>(rank_),
                      .direction = direction,
                      .poison = false,
                      .repeat = false,
                      .codec_fingerprint = 0,
                      .first_element = part.first,
                      .element_count = part.count},
                     payload, bytes);
  bytes.insert(bytes.end(), payload.begin(), payload.end());
  return std::make_shared<const std::vector<std::byte>>(std::move(bytes));
}

std::optional<Frame> StepExchange::open(const Bytes& bytes, Direction direction,
                                        std::size_t sender) const {
  const Decoded<Frame> frame = parse_frame(*bytes);
  if (!frame) return std::nullopt;
  const FrameExpectation expected{.run = world_,
                                  .step = step_,
                                  .sender = static_cast<std::uint32_t>(sender),
                                  .direction = direction};
  if (!verify(frame->header, expected)) return std::nullopt;
  return *frame;
}

Bytes StepExchange::take_up(std::size_t rank, const Bytes& frame) {
  if (!open(frame, Direction::up, rank) || ups_[rank]) return nullptr;
  ups_[rank] = frame;
  if (std::ranges::any_of(ups_, [](const Bytes& up) { return !up; })) return nullptr;
  const Chunk part = chunk(rank_);
  Vector sum(kElements, 0);
  for (std::size_t sender = 0; sender < ranks_ && part.count > 0; ++sender) {
    const auto target = std::span(sum).subspan(part.first, part.count);
    const auto payload = open(ups_[sender], Direction::up, sender)->payload;
    GW_CHECK(codecs_.up->decode_add(payload, 1, target, codecs_.workspace).has_value());
  }
  return make_frame(*codecs_.down, Direction::down, part, sum);
}

bool StepExchange::take_result(std::size_t rank, const Bytes& frame) {
  const Direction direction = route_ == Route::gather ? Direction::hop : Direction::down;
  if (!open(frame, direction, rank)) return false;
  results_[rank] = frame;
  return true;
}

std::optional<Vector> StepExchange::sum() {
  if (std::ranges::any_of(results_, [](const Bytes& frame) { return !frame; })) {
    return std::nullopt;
  }
  Vector sum(kElements, 0);
  const Codec& codec = route_ == Route::gather ? *codecs_.up : *codecs_.down;
  for (std::size_t rank = 0; rank < ranks_; ++rank) {
    const Chunk part = chunk(rank);
    if (part.count == 0) continue;
    const auto target = std::span(sum).subspan(part.first, part.count);
    const auto payload = std::span(*results_[rank]).subspan(kFrameHeaderBytes);
    GW_CHECK(codec.decode_add(payload, 1, target, codecs_.workspace).has_value());
  }
  return sum;
}

}  // namespace gradwire::simulate
