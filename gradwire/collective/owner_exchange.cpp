#include "gradwire/collective/owner_exchange.h"

#include <algorithm>

#include "gradwire/kernel/copy.h"

namespace gradwire {
namespace {

template <class BytesOf>
std::size_t largest(std::span<const Segment> segments, const BytesOf& bytes_of) {
  std::size_t bytes = 0;
  for (const Segment& segment : segments) bytes = std::max(bytes, bytes_of(segment));
  return bytes;
}

}  // namespace

std::vector<std::size_t> encoding_order(const Layout& layout, std::size_t rank) {
  std::vector<std::size_t> order;
  for (std::size_t round = 0; order.size() < layout.segments.size(); ++round) {
    for (std::size_t i = 1; i <= layout.chunks.size(); ++i) {
      const Chunk& chunk = layout.chunks[(rank + i) % layout.chunks.size()];
      if (round < chunk.segment_count) order.push_back(chunk.first_segment + round);
    }
  }
  return order;
}

std::size_t owner_of(const Layout& layout, std::size_t segment) {
  const auto owns = [segment](const Chunk& chunk) {
    return segment >= chunk.first_segment && segment < chunk.first_segment + chunk.segment_count;
  };
  const auto chunk = std::ranges::find_if(layout.chunks, owns);
  return static_cast<std::size_t>(chunk - layout.chunks.begin());
}

OwnerExchange::OwnerExchange(Communicator::Impl& communicator, ExchangeSetup given,
                             Transport& transport)
    : ExchangeBase(communicator, std::move(given)),
      down_kind_{.codecs = downs(),
                 .fingerprint = fingerprint(downs().spec()),
                 .direction = Direction::down},
      order_(contributes(rank()) ? encoding_order(layout(), rank()) : std::vector<std::size_t>()),
      up_frames_(frame_sizes(layout().segments,
                             [this](const Segment& s) { return up_frame_bytes_max(s); })),
      written_(order_.size()),
      up_senders_(layout().segments.size()),
      is_zero_(layout().segments.size()),
      up_inboxes_(ranks()),
      parcels_(ranks()),
      part_scales_(own_chunk().part_count),
      poisoned_(own_chunk().segment_count),
      weights_(own_chunk().segment_count),
      down_frames_(frame_sizes(own_segments(),
                               [this](const Segment& s) { return down_frame_bytes_max(s); })),
      sent_down_(own_chunk().segment_count),
      down_senders_(ranks()),
      down_inboxes_(ranks()),
      came_down_(setup().is_ported ? layout().segments.size() : 0),
      came_frames_(came_down_.size()) {
  keep_uploads(own_segments());
  const auto up_bytes = [this](const Segment& s) { return up_frame_bytes_max(s); };
  const auto down_bytes = [this](const Segment& s) { return down_frame_bytes_max(s); };
  const std::size_t up_room = largest(own_segments(), up_bytes);
  for (std::size_t peer = 0; peer < ranks(); ++peer) {
    if (peer == rank()) continue;
    const Chunk& theirs = layout().chunks[peer];
    for (std::size_t i = 0; i < theirs.segment_count && contributes(rank()); ++i) {
      const std::size_t segment = theirs.first_segment + i;
      up_senders_[segment] = transport.sender(peer, tag(Lane::up), up_frames_.room(segment));
    }
    for (std::size_t i = 0; i < own_chunk().segment_count; ++i) {
      down_senders_[peer].push_back(transport.sender(peer, tag(Lane::down), down_frames_.room(i)));
    }
    if (own_chunk().segment_count > 0 && contributes(peer)) {
      up_inboxes_[peer] =
          std::make_unique<Inbox>(transport, peer, tag(Lane::up), up_room,
                                  inbox_rooms(own_chunk().segment_count, setup().keeps_uploads));
    }
    if (theirs.segment_count > 0) {
      down_inboxes_[peer] = std::make_unique<Inbox>(
          transport, peer, tag(Lane::down), largest(layout().segments_of(theirs), down_bytes),
          inbox_rooms(theirs.segment_count, setup().is_ported));
    }
  }
}

std::size_t OwnerExchange::down_frame_bytes_max(const Segment& segment) const {
  std::size_t bytes = kFrameHeaderBytes + parcel_head_bytes(segment.piece_count);
  for (const Piece& piece : layout().pieces_of(segment)) bytes += down_bytes_max(piece);
  return bytes;
}

std::size_t OwnerExchange::down_bytes_max(const Piece& piece) const {
  return down(piece).payload_bytes_max(piece.of_tensor.elements,
                                       layout().parts[piece.part].elements);
}

Turn OwnerExchange::advance_call() {
  if (is_replay()) return commit_turn();
  if (!is_measured_) {
    measure();
    is_measured_ = true;
  }
  const bool has_encoded = encode_next();
  const bool has_reduced = reduce_next();
  const bool has_decoded = decode_next();
  if (has_encoded || has_reduced || has_decoded) return Turn::worked;
  if (!has_all_frames()) return Turn::waiting;
  if (!is_settled_) {
    if (method().gate != nullptr) method().gate->await_commit();
    settle();
    settle_uploads();
    is_settled_ = true;
  }
  return commit_turn();
}

Turn OwnerExchange::commit_turn() {
  if (setup().is_ported && committed_ < layout().segments.size()) {
    commit_next();
    return Turn::worked;
  }
  return is_replay() || has_sent_all() ? Turn::finished : Turn::waiting;
}

void OwnerExchange::begin_call() {
  encoded_ = own_encoded_ = reduced_ = looked_at_ = committed_ = 0;
  is_measured_ = is_settled_ = false;
  if (is_replay()) return take_results();
  std::fill(is_zero_.begin(), is_zero_.end(), char{0});
  for (std::size_t peer = 0; peer < ranks(); ++peer) {
    if (up_inboxes_[peer]) up_inboxes_[peer]->expect(own_chunk().segment_count);
    if (down_inboxes_[peer]) down_inboxes_[peer]->expect(layout().chunks[peer].segment_count);
    if (layout().chunks[peer].segment_count == 0) tell_result(peer);
  }
}

void OwnerExchange::measure() {
  measure_values();
  if (!downs().needs_whole_tensor()) measure_parts();
  // Here, and not by whichever thread needs them first.
  if (own_chunk().part_count == 0 || is_collecting()) return;
  const bool is_whole = downs().needs_whole_tensor();
  if (method().owner != nullptr || is_whole) own_mean(own_chunk().first_part);
  if (is_whole) own_wanted(own_chunk().first_part);
}

bool OwnerExchange::has_all_frames() const {
  return encoded_ == order_.size() && reduced_ == own_chunk().segment_count &&
         std::all_of(down_inboxes_.begin(), down_inboxes_.end(),
                     [](const auto& inbox) { return !inbox || inbox->is_empty(); });
}

bool OwnerExchange::encode_next() {
  if (encoded_ == order_.size()) return false;
  const std::size_t index = order_[encoded_++];
  const Segment& segment = layout().segments[index];
  const std::span<std::byte> memory = up_frames_.room(index);
  const bool is_own = !up_senders_[index];
  Written& written = written_[index];
  if (is_own && saves_entropy()) {
    written = encode_staying(segment, memory);
  } else if (!method().is_repeat) {
    written = encode_up(segment, memory);
  }
  if (is_own) {
    ++own_encoded_;
  } else {
    send(*up_senders_[index],
         method().is_repeat ? seal_repeat(up_kind(), segment, memory)
                            : seal(up_kind(), segment, !written.finite, written.parcel, memory));
  }
  if (encoded_ == order_.size() && saves_entropy()) report_staying(written_);
  return true;
}

bool OwnerExchange::reduce_next() {
  if (reduced_ == own_chunk().segment_count) return false;
  if (contributes(rank()) && own_encoded_ <= reduced_) return false;
  for (const auto& inbox : up_inboxes_) {
    if (inbox && !inbox->is_ready()) return false;
  }
  const std::size_t index = reduced_++;
  open_contributions(index);
  if (!downs().needs_whole_tensor()) {
    send_down(index);
  } else if (is_collecting()) {
    collect(own_segments()[index]);
  } else {
    average_segment(own_segments()[index]);
  }
  for (const auto& inbox : up_inboxes_) {
    if (inbox) inbox->pop();
  }
  if (downs().needs_whole_tensor() && reduced_ == own_chunk().segment_count) {
    measure_parts();
    for (std::size_t i = 0; i < reduced_; ++i) send_down(i);
  }
  if (reduced_ == own_chunk().segment_count) tell_result(rank());
  return true;
}

void OwnerExchange::open_contributions(std::size_t index) {
  const Segment& segment = own_segments()[index];
  bool poison = false;
  for (std::size_t peer = 0; peer < ranks(); ++peer) {
    if (!contributes(peer)) continue;
    const Incoming incoming =
        peer == rank()
            ? open_own_upload(written_[own_chunk().first_segment + index], segment, index)
            : open_upload(*up_inboxes_[peer], segment, index);
    parcels_[peer] = incoming.parcel;
    poison = poison || incoming.poison;
  }
  weights_[index] = weigh(segment, parcels_);
  poisoned_[index] = poison;
}

// The exact mean of what was sent, and what the port makes of it. Laid out in full only where
// somebody has to see it again.
std::optional<BadPayload> OwnerExchange::average_own(const Piece& piece, std::size_t i,
                                                     PieceMemory& memory,
                                                     std::span<const float>& wanted) {
  const bool has_port = method().owner != nullptr;
  const bool is_whole = downs().needs_whole_tensor();
  const std::span<float> scratch = memory.scratch(piece.of_tensor.elements);
  const std::span<float> mean =
      has_port || is_whole ? within(own_mean(piece.part), piece) : scratch;
  const StopWatch watch(memory.decode_seconds);
  if (auto bad = average(piece, i, memory, mean)) return bad;
  wanted = mean;
  if (!has_port) return std::nullopt;
  const std::span<float> prepared = is_whole ? within(own_wanted(piece.part), piece) : scratch;
  method().owner->prepare(piece.of_tensor, mean, prepared);
  wanted = prepared;
  return std::nullopt;
}

void OwnerExchange::average_segment(const Segment& segment) {
  for_pieces(layout().pieces_of(segment), is_shared(segment),
             [&](const Piece& piece, std::size_t i, PieceMemory& memory) {
               std::span<const float> wanted;
               return average_own(piece, i, memory, wanted);
             });
}

// Sums of few elements are never laid out in full.
void OwnerExchange::collect(const Segment& segment) {
  const std::span<const Piece> pieces = layout().pieces_of(segment);
  if (piece_scales_.size() < pieces.size()) piece_scales_.resize(pieces.size());
  for_pieces(pieces, is_shared(segment),
             [&](const Piece& piece, std::size_t i, PieceMemory& memory) {
               const std::span<float> mean = memory.scratch(piece.of_tensor.elements);
               {
                 const StopWatch watch(memory.decode_seconds);
                 if (auto bad = average(piece, i, memory, mean)) return bad;
               }
               const StopWatch watch(memory.encode_seconds);
               piece_scales_[i].reset(layout().parts[piece.part].elements);
               down(piece).collect(TensorRange{.values = mean, .first = piece.first_in_part},
                                   piece_scales_[i]);
               return std::optional<BadPayload>();
             });
  const StopWatch watch(report().phases.encode_seconds);
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    Scale& scale = part_scales_[pieces[i].part - own_chunk().first_part];
    if (pieces[i].first_in_part == 0) scale.reset(layout().parts[pieces[i].part].elements);
    down(pieces[i]).collect(piece_scales_[i], scale);
  }
}

void OwnerExchange::measure_parts() {
  const StopWatch watch(report().phases.encode_seconds);
  const std::span<const Part> parts = layout().parts_of(own_chunk());
  measure_each(
      parts.size(), [&](std::size_t i) { return parts[i].elements; },
      [&](std::size_t i, ThreadPool& pool) {
        const auto& [tensor, first, elements] = parts[i];
        const Codec& codec = downs().of(tensor);
        if (is_collecting()) return codec.finish_collecting(part_scales_[i]);
        const auto mean = downs().needs_whole_tensor()
                              ? own_wanted(own_chunk().first_part + i)
                              : means({tensor, first, elements});  // not read
        codec.measure(mean, rng(tensor, Purpose::downlink, rank()), part_scales_[i], pool);
      });
}

// A piece is averaged, encoded and decoded again while it is in the cache, unless the codec has to
// see all of the mean first.
void OwnerExchange::send_down(std::size_t index) {
  const Segment& segment = own_segments()[index];
  const std::span<std::byte> memory = down_frames_.room(index);
  const Written& written = sent_down_[index] = write_parcel(
      segment, weights_[index], memory,
      [this](const Piece& piece) { return down_bytes_max(piece); },
      [&](const Piece& piece, std::size_t i, std::span<std::byte> room,
          PieceMemory& thread) -> Expected<Encoded, BadPayload> {
        std::span<const float> wanted;
        if (downs().needs_whole_tensor()) {
          wanted = within(own_wanted(piece.part), piece);
        } else if (const auto bad = average_own(piece, i, thread, wanted)) {
          return Unexpected{*bad};
        }
        return encode_down(piece, wanted, room, thread);
      });
  const bool poison = poisoned_[index] || !written.finite;
  report().poisoned = report().poisoned || poison;
  if (ranks() == 1 && method().gate == nullptr) return;
  const auto frame = seal(down_kind_, segment, poison, written.parcel, memory);
  if (setup().is_ported) came_frames_[own_chunk().first_segment + index] = frame;
  for (auto& senders : down_senders_) {
    if (!senders.empty()) send(*senders[index], frame);
  }
}

Encoded OwnerExchange::encode_down(const Piece& piece, std::span<const float> mean,
                                   std::span<std::byte> room, PieceMemory& memory) {
  const StopWatch watch(memory.encode_seconds);
  const Codec& codec = down(piece);
  const Scale& scale = part_scales_[piece.part - own_chunk().first_part];
  const TensorRange range{.values = mean, .first = piece.first_in_part};
  const Rng random = rng(piece.of_tensor.tensor, Purpose::downlink, rank());
  const bool has_port = method().owner != nullptr || setup().is_ported;
  if (has_port) return codec.encode(scale, range, random, room, memory.workspace);
  // The owner, too, goes on with what was sent.
  const std::span<float> result = means(piece.of_tensor);
  const std::span<float> rounded = is_large() ? memory.scratch(result.size()) : result;
  const Encoded encoded =
      codec.encode_rounded(scale, range, random, room, rounded, memory.workspace);
  if (is_large()) {
    kernel::copy_streamed(std::as_bytes(std::span<const float>(rounded)),
                          std::as_writable_bytes(result).data());
  }
  return encoded;
}

bool OwnerExchange::decode_next() {
  bool has_decoded = false;
  for (std::size_t peer = 0; peer < ranks(); ++peer) {
    Inbox* const inbox = down_inboxes_[peer].get();
    if (inbox == nullptr || !inbox->is_ready()) continue;
    const Segment& segment = layout().segments_of(layout().chunks[peer])[inbox->taken()];
    const Incoming incoming = open_front(*inbox, down_kind_, segment, peer);
    if (setup().is_ported) {
      came_down_[layout().chunks[peer].first_segment + inbox->taken()] = incoming.parcel;
      came_frames_[layout().chunks[peer].first_segment + inbox->taken()] = incoming.frame;
    } else {
      decode_into_means(down_kind_, segment, incoming.parcel, peer,
                        is_zero_[layout().chunks[peer].first_segment + inbox->taken()] != 0);
    }
    report().poisoned = report().poisoned || incoming.poison;
    inbox->pop();
    if (inbox->is_empty()) tell_result(peer);
    has_decoded = true;
  }
  return has_decoded;
}

// The means of the other owners, in the order in which they probably come. All values have been
// encoded by then: means may be in their memory.
bool OwnerExchange::work_ahead() {
  if (!zeroes_ahead(downs())) return false;
  for (; looked_at_ < order_.size(); ++looked_at_) {
    const std::size_t index = order_[looked_at_];
    if (is_zero_[index] != 0 || !is_to_come_down(index)) continue;
    zero_means(layout().segments[index]);
    is_zero_[index] = 1;
    return true;
  }
  return false;
}

bool OwnerExchange::is_to_come_down(std::size_t segment) const {
  const std::size_t owner = owner_of(layout(), segment);
  const std::size_t first = layout().chunks[owner].first_segment;
  return down_inboxes_[owner] && segment >= first + down_inboxes_[owner]->taken();
}

void OwnerExchange::tell_result(std::size_t owner) {
  if (method().gate == nullptr) return;
  const Chunk& chunk = layout().chunks[owner];
  method().gate->on_result(
      owner, std::span(came_frames_).subspan(chunk.first_segment, chunk.segment_count));
}

void OwnerExchange::take_results() {
  for (std::size_t owner = 0; owner < ranks(); ++owner) {
    std::span<const std::byte> rest = method().replay[owner];
    const Chunk& chunk = layout().chunks[owner];
    for (std::size_t i = 0; i < chunk.segment_count; ++i) {
      const std::size_t index = chunk.first_segment + i;
      const Incoming incoming = open_result(rest, down_kind_, layout().segments[index], owner);
      came_down_[index] = incoming.parcel;
      report().poisoned = report().poisoned || incoming.poison;
      rest = rest.subspan(incoming.frame.size());
    }
  }
}

void OwnerExchange::settle() {
  if (method().owner == nullptr) return;
  const StopWatch watch(report().phases.decode_seconds);
  PieceMemory& memory = threads().own_memory();
  for (std::size_t i = 0; i < own_chunk().segment_count; ++i) {
    const Segment& segment = own_segments()[i];
    ParcelReader parcel = open_own(sent_down_[i], segment);
    for (const Piece& piece : layout().pieces_of(segment)) {
      const std::span<float> sent = memory.scratch(piece.of_tensor.elements);
      check(down(piece).decode(parcel.next(), sent, memory.workspace), rank());
      const std::span<float> mean = within(own_mean(piece.part), piece);
      if (!report().poisoned) method().owner->commit(piece.of_tensor, mean, sent);
      if (!setup().is_ported) std::copy(sent.begin(), sent.end(), mean.begin());
    }
  }
}

void OwnerExchange::commit_next() {
  const std::size_t index = committed_++;
  const Segment& segment = layout().segments[index];
  const std::size_t owner = owner_of(layout(), index);
  if (owner == rank() && !is_replay()) {
    came_down_[index] = open_own(sent_down_[index - own_chunk().first_segment], segment);
  }
  ParcelReader own = sends_nothing() ? ParcelReader() : open_own(written_[index], segment);
  came_payloads_.clear();
  for (std::size_t p = 0; p < segment.piece_count; ++p) {
    came_payloads_.push_back(came_down_[index].next());
  }
  commit_segment(
      segment,
      [&](const Piece&) {
        return sends_nothing() ? SentPayload() : SentPayload::counted(own.next());
      },
      [&](const Piece& piece, std::size_t p, PieceMemory& memory, std::span<float> mean,
          float scale) {
        const auto decoded = down(piece).decode(came_payloads_[p], mean, memory.workspace);
        if (decoded) scale_by(scale, mean);
        return bad_if(decoded, owner);
      });
}

std::vector<TensorPiece> OwnerExchange::owned() const {
  std::vector<TensorPiece> owned;
  for (const auto& [tensor, first, elements] : layout().parts_of(own_chunk())) {
    owned.push_back({.tensor = tensor, .first = first, .elements = elements});
  }
  return owned;
}

std::span<float> OwnerExchange::own_mean(std::size_t part) {
  if (setup().is_ported) return own_means_.part(layout(), own_chunk(), part);
  const auto& [tensor, first, elements] = layout().parts[part];
  return means({tensor, first, elements});
}

std::span<float> OwnerExchange::own_wanted(std::size_t part) {
  return method().owner != nullptr ? own_wanted_.part(layout(), own_chunk(), part) : own_mean(part);
}

bool OwnerExchange::has_sent_all() {
  const auto is_done = [](const auto& sender) { return !sender || sender->done(); };
  return std::ranges::all_of(up_senders_, is_done) &&
         std::ranges::all_of(down_senders_, [&](const auto& senders) {
           return std::ranges::all_of(senders, is_done);
         });
}

}  // namespace gradwire
