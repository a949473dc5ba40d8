#include "gradwire/collective/gather_exchange.h"

#include <algorithm>

namespace gradwire {

GatherExchange::GatherExchange(Communicator::Impl& communicator, ExchangeSetup given,
                               Transport& transport)
    : ExchangeBase(communicator, std::move(given)),
      frames_(frame_sizes(layout().segments,
                          [this](const Segment& s) { return up_frame_bytes_max(s); })),
      written_(layout().segments.size()),
      senders_(ranks()),
      inboxes_(ranks()),
      parcels_(ranks() * (setup().is_ported ? layout().segments.size() : 1)) {
  keep_uploads(layout().segments);
  for (std::size_t peer = 0; peer < ranks(); ++peer) {
    if (peer == rank() || layout().segments.empty()) continue;
    for (std::size_t i = 0; i < frames_.size(); ++i) {
      senders_[peer].push_back(transport.sender(peer, tag(Lane::up), frames_.room(i)));
    }
    inboxes_[peer] = std::make_unique<Inbox>(
        transport, peer, tag(Lane::up), frames_.room_bytes_max(),
        keeps_frames() ? frames_.size() : std::min(kInboxRooms, frames_.size()));
  }
}

void GatherExchange::begin_call() {
  encoded_ = added_ = zeroed_ = committed_ = 0;
  is_measured_ = is_released_ = false;
  if (is_replay()) return take_results();
  if (method().gate != nullptr) came_frames_.assign(ranks(), {});
  for (const auto& inbox : inboxes_) {
    if (inbox) inbox->expect(frames_.size());
  }
}

Turn GatherExchange::advance_call() {
  if (is_replay()) return commit_turn();
  if (!is_measured_) {
    measure_values();
    is_measured_ = true;
  }
  if (method().gate != nullptr) return advance_gated();
  const bool can_encode = encoded_ < frames_.size();
  if (can_encode) encode_next();
  if (added_ < encoded_ && is_ready()) {
    add_up(layout().segments[added_], added_);
    if (++added_ == frames_.size()) settle_uploads();
    return Turn::worked;
  }
  if (can_encode) return Turn::worked;
  if (added_ < frames_.size()) return Turn::waiting;
  return commit_turn();
}

Turn GatherExchange::commit_turn() {
  if (setup().is_ported && committed_ < frames_.size()) {
    commit_next();
    return Turn::worked;
  }
  return is_replay() || has_sent_all() ? Turn::finished : Turn::waiting;
}

bool GatherExchange::has_sent_all() {
  return std::ranges::all_of(senders_, [](const auto& senders) {
    return std::ranges::all_of(senders, [](const auto& sender) { return sender->done(); });
  });
}

Turn GatherExchange::advance_gated() {
  const bool can_encode = encoded_ < frames_.size();
  if (can_encode) {
    encode_next();
    if (encoded_ == frames_.size()) method().gate->on_result(rank(), came_frames_[rank()]);
  }
  const bool has_taken = take_gated();
  if (can_encode || has_taken) return Turn::worked;
  if (!std::ranges::all_of(inboxes_, [](const auto& i) { return !i || i->is_empty(); })) {
    return Turn::waiting;
  }
  if (!is_released_) method().gate->await_commit();
  is_released_ = true;
  return commit_turn();
}

bool GatherExchange::take_gated() {
  bool has_taken = false;
  for (std::size_t peer = 0; peer < ranks(); ++peer) {
    Inbox* const inbox = inboxes_[peer].get();
    while (inbox != nullptr && inbox->is_ready()) {
      const std::size_t index = inbox->taken();
      const Incoming incoming = open_front(*inbox, up_kind(), layout().segments[index], peer);
      parcels_of(index)[peer] = incoming.parcel;
      came_frames_[peer].push_back(incoming.frame);
      report().poisoned = report().poisoned || incoming.poison;
      inbox->pop();
      if (inbox->is_empty()) method().gate->on_result(peer, came_frames_[peer]);
      has_taken = true;
    }
  }
  return has_taken;
}

void GatherExchange::take_results() {
  for (std::size_t peer = 0; peer < ranks(); ++peer) {
    std::span<const std::byte> rest = method().replay[peer];
    for (std::size_t i = 0; i < layout().segments.size(); ++i) {
      const Incoming incoming = open_result(rest, up_kind(), layout().segments[i], peer);
      parcels_of(i)[peer] = incoming.parcel;
      report().poisoned = report().poisoned || incoming.poison;
      rest = rest.subspan(incoming.frame.size());
    }
  }
}

void GatherExchange::encode_next() {
  const Segment& segment = layout().segments[encoded_];
  const std::span<std::byte> memory = frames_.room(encoded_);
  Written& written = written_[encoded_];
  if (!method().is_repeat) {
    written = encode_up(segment, memory);
    report().poisoned = report().poisoned || !written.finite;
  }
  if (ranks() > 1 || method().gate != nullptr) {
    const auto frame = method().is_repeat
                           ? seal_repeat(up_kind(), segment, memory)
                           : seal(up_kind(), segment, !written.finite, written.parcel, memory);
    if (method().gate != nullptr) {
      came_frames_[rank()].push_back(frame);
      parcels_of(encoded_)[rank()] = open_own(written, segment);
    }
    for (const auto& senders : senders_) {
      if (!senders.empty()) send(*senders[encoded_], frame);
    }
  }
  ++encoded_;
}

bool GatherExchange::is_ready() {
  return std::all_of(inboxes_.begin(), inboxes_.end(),
                     [](const auto& inbox) { return !inbox || inbox->is_ready(); });
}

// After the last segment was encoded: means may be in the memory of the values.
bool GatherExchange::work_ahead() {
  zeroed_ = std::max(zeroed_, added_);
  if (!zeroes_ahead(ups()) || zeroed_ == frames_.size()) return false;
  zero_means(layout().segments[zeroed_++]);
  return true;
}

void GatherExchange::add_up(const Segment& segment, std::size_t index) {
  const std::span<ParcelReader> parcels = parcels_of(index);
  for (std::size_t peer = 0; peer < ranks(); ++peer) {
    const Incoming incoming = peer == rank() ? open_own_upload(written_[index], segment, index)
                                             : open_upload(*inboxes_[peer], segment, index);
    parcels[peer] = incoming.parcel;
    report().poisoned = report().poisoned || incoming.poison;
  }
  if (!setup().is_ported) {
    weigh(segment, parcels);
    for_pieces(layout().pieces_of(segment), is_shared(segment),
               [&](const Piece& piece, std::size_t i, PieceMemory& memory) {
                 const StopWatch watch(memory.decode_seconds);
                 const std::span<float> mean = means(piece.of_tensor);
                 return index < zeroed_ ? add_to_zeros(piece, i, memory, mean)
                                        : average(piece, i, memory, mean);
               });
  }
  for (const auto& inbox : inboxes_) {
    if (inbox) inbox->pop();
  }
}

// Averaged only now, piece by piece as the port takes it: memory is walked once.
void GatherExchange::commit_next() {
  const std::size_t index = committed_++;
  const Segment& segment = layout().segments[index];
  weigh(segment, parcels_of(index));
  ParcelReader own = sends_nothing() ? ParcelReader() : open_own(written_[index], segment);
  commit_segment(
      segment,
      [&](const Piece&) {
        return sends_nothing() ? SentPayload() : SentPayload::counted(own.next());
      },
      [&](const Piece& piece, std::size_t i, PieceMemory& memory, std::span<float> mean,
          float scale) { return average(piece, i, memory, mean, scale); });
}

}  // namespace gradwire
