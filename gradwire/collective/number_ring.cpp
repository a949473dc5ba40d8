#include "gradwire/collective/number_ring.h"

#include <algorithm>
#include <array>
#include <bit>
#include <vector>

#include "gradwire/collective/frame_inbox.h"
#include "gradwire/collective/progress.h"
#include "gradwire/core/bit_pack.h"
#include "gradwire/core/check.h"
#include "gradwire/core/stop_watch.h"
#include "gradwire/wire/frame.h"

namespace gradwire {
namespace {

constexpr unsigned kWidthMax = 8;

// Widths of sums of so many ranks' numbers.
std::vector<std::uint8_t> sum_widths(std::span<const std::uint8_t> widths, std::size_t ranks) {
  std::vector<std::uint8_t> wide;
  for (const std::uint8_t width : widths) {
    GW_CHECK(width <= kWidthMax);
    const std::uint64_t largest = ranks * ((std::uint64_t{1} << width) - 1);
    wide.push_back(static_cast<std::uint8_t>(std::bit_width(largest)));
  }
  return wide;
}

// Chunk c of the numbers, cut where the widths begin again.
struct Chunk {
  std::size_t first = 0;
  std::size_t count = 0;
};
Chunk chunk_of(std::size_t c, std::size_t numbers, std::size_t period, std::size_t ranks) {
  const std::size_t periods = (numbers + period - 1) / period;
  const auto cut = [&](std::size_t i) { return std::min(numbers, periods * i / ranks * period); };
  return {cut(c), cut(c + 1) - cut(c)};
}

}  // namespace

class NumberRing::Ring final : public Job {
 public:
  Ring(Communicator& communicator, const std::string& name, std::size_t numbers_max)
      : Job(kAlone),
        communicator_(communicator.impl()),
        rank_(communicator.rank()),
        ranks_(communicator.size()),
        number_(communicator_.take_exchange_number()),
        fingerprint_(fingerprint("number ring " + name)),
        out_(std::array{frame_bytes_max(numbers_max)}) {
    GW_CHECK(ranks_ < std::size_t{1} << 16);
    communicator_.call([&](PeerLinks& links) {
      links.agreement.compare(
          {{"number ring", name}, {"the most numbers at a time", std::to_string(numbers_max)}});
      if (ranks_ == 1) return;
      sender_ = links.transport.sender((rank_ + 1) % ranks_, {.lane = Lane::hop}, out_.room(0));
      inbox_ = std::make_unique<Inbox>(links.transport, behind(1), Tag{.lane = Lane::hop},
                                       out_.room_bytes_max(), kInboxRooms);
    });
  }

  ExchangeReport run(const NumberRingCall& call) {
    GW_CHECK(call.sums.size() == call.numbers.size());
    call_ = call;
    communicator_.queue(*this);
    communicator_.wait(*this);
    return report_;
  }

  Turn advance(PeerLinks& links) override {
    report_ = {.poisoned = call_.is_poison};
    links.presence.set_step(call_.step);
    std::ranges::copy(call_.numbers, call_.sums.begin());
    const StopWatch watch(report_.phases.exchange_seconds);
    const std::size_t hops = ranks_ - 1;
    if (inbox_) inbox_->expect(2 * hops);
    for (std::size_t hop = 0; hop < hops; ++hop) {
      send(links, behind(hop), hop + 1);
      receive(links, behind(hop + 1), hop + 1, true);
    }
    for (std::size_t hop = 0; hop < hops; ++hop) {
      send(links, behind(hops + hop), ranks_);
      receive(links, behind(ranks_ + hop), ranks_, false);
    }
    if (sender_) links.presence.await(*sender_);
    return Turn::finished;
  }

 private:
  // The rank, or the chunk of that number, so many steps back on the ring.
  std::size_t behind(std::size_t steps) const { return (rank_ + 2 * ranks_ - steps) % ranks_; }

  std::size_t frame_bytes_max(std::size_t numbers_max) const {
    const std::array<std::uint8_t, 1> widest = {kWidthMax};
    return kFrameHeaderBytes + packed_number_bytes(numbers_max, sum_widths(widest, ranks_));
  }

  // A chunk as a sum of so many ranks.
  void send(PeerLinks& links, std::size_t c, std::size_t summed) {
    links.presence.await(*sender_);
    const Chunk chunk = chunk_of(c, call_.sums.size(), call_.widths.size(), ranks_);
    const auto widths = sum_widths(call_.widths, summed);
    const std::span<std::byte> room = out_.room(0);
    const std::span<std::byte> payload =
        room.subspan(kFrameHeaderBytes, packed_number_bytes(chunk.count, widths));
    pack_numbers(call_.sums.subspan(chunk.first, chunk.count), widths, payload);
    write_frame_header({.run = communicator_.run(),
                        .step = call_.step,
                        .exchange = number_,
                        .sender = static_cast<std::uint32_t>(rank_),
                        .direction = Direction::hop,
                        .poison = report_.poisoned,
                        .codec_fingerprint = fingerprint_,
                        .first_element = chunk.first,
                        .element_count = chunk.count},
                       payload, room);
    const std::size_t bytes = kFrameHeaderBytes + payload.size();
    sender_->start(bytes);
    report_.traffic.bytes_sent += bytes;
    if (summed < ranks_) report_.traffic.message_bytes += bytes;
  }

  void receive(PeerLinks& links, std::size_t c, std::size_t summed, bool is_added) {
    inbox_->await(links.presence);
    const Chunk chunk = chunk_of(c, call_.sums.size(), call_.widths.size(), ranks_);
    const auto frame = parse_frame(inbox_->front());
    if (!frame) refuse(links.presence, inbox_->peer(), "a frame", frame.error());
    const auto verified =
        verify(frame->header, {.run = communicator_.run(),
                               .step = call_.step,
                               .exchange = number_,
                               .sender = static_cast<std::uint32_t>(inbox_->peer()),
                               .direction = Direction::hop,
                               .codec_fingerprint = fingerprint_,
                               .first_element = chunk.first,
                               .element_count = chunk.count});
    if (!verified) refuse(links.presence, inbox_->peer(), "a frame", verified.error());
    const auto widths = sum_widths(call_.widths, summed);
    if (frame->payload.size() != packed_number_bytes(chunk.count, widths)) {
      refuse(links.presence, inbox_->peer(), "a frame",
             {"it has not as many bytes as its numbers take", kFrameHeaderBytes});
    }
    came_.resize(chunk.count);
    unpack_numbers(frame->payload, widths, came_);
    const std::span<std::uint32_t> sums = call_.sums.subspan(chunk.first, chunk.count);
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] = came_[i] + (is_added ? sums[i] : 0);
    links.presence.heard(inbox_->peer());
    report_.poisoned = report_.poisoned || frame->header.poison;
    report_.traffic.bytes_received += frame->bytes();
    inbox_->pop();
  }

  Communicator::Impl& communicator_;
  const std::size_t rank_;
  const std::size_t ranks_;
  const std::uint32_t number_;
  const std::uint64_t fingerprint_;
  FrameStore out_;
  std::unique_ptr<Sender> sender_;  // null for a ring of one, as the inbox is
  std::unique_ptr<Inbox> inbox_;
  std::vector<std::uint32_t> came_;
  NumberRingCall call_;
  ExchangeReport report_;
};

NumberRing::NumberRing(Communicator& communicator, const std::string& name, std::size_t numbers_max)
    : ring_(std::make_unique<Ring>(communicator, name, numbers_max)) {}
NumberRing::~NumberRing() = default;

ExchangeReport NumberRing::run(const NumberRingCall& call) { return ring_->run(call); }

std::size_t NumberRing::bytes_sent(std::size_t numbers, std::span<const std::uint8_t> widths,
                                   std::size_t ranks) {
  std::size_t bytes = 2 * (ranks - 1) * kFrameHeaderBytes;
  for (std::size_t hop = 1; hop < ranks; ++hop) {
    bytes += packed_number_bytes(numbers / ranks, sum_widths(widths, hop));
    bytes += packed_number_bytes(numbers / ranks, sum_widths(widths, ranks));
  }
  return bytes;
}

}  // namespace gradwire
