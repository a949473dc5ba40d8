#include "gradwire/collective/grace_owner.h"

#include <algorithm>
#include <utility>

#include "gradwire/collective/owner_exchange.h"

namespace gradwire {

GraceOwner::GraceOwner(Communicator::Impl& communicator, ExchangeSetup given, Transport& transport)
    : ExchangeBase(communicator, std::move(given)),
      down_kind_{.codecs = downs(),
                 .fingerprint = fingerprint(downs().spec()),
                 .direction = Direction::down},
      ups_(ranks()),
      left_out_(ranks()),
      delivered_(ranks()),
      counted_(ranks()),
      parcels_(ranks()),
      part_scales_(own_chunk().part_count),
      poisoned_(own_chunk().segment_count),
      weights_(own_chunk().segment_count),
      sent_down_(own_chunk().segment_count),
      down_frames_([this] {
        std::vector<std::size_t> rooms;
        for (std::size_t call = 0; call < kCallsKept; ++call) {
          const auto frames = down_frames_of(rank());
          rooms.insert(rooms.end(), frames.begin(), frames.end());
        }
        return rooms;
      }()),
      down_senders_(ranks()),
      downs_(ranks()),
      results_here_(ranks()),
      results_(kCallsKept * layout().segments.size(),
               Result{.parcel = {}, .counted = CountedRanks(ranks())}) {
  GW_CHECK(setup().is_ported && setup().grace.is_given());
  keep_uploads(own_segments());
  const auto up_frames =
      frame_sizes(own_segments(), [this](const Segment& s) { return up_frame_bytes_max(s); });
  std::size_t senders = contributes(rank()) ? 1 : 0;
  for (std::size_t peer = 0; peer < ranks(); ++peer) {
    if (peer == rank()) continue;
    if (contributes(peer)) ++senders;
    if (contributes(peer) && !up_frames.empty()) {
      ups_[peer] =
          std::make_unique<FrameStream>(transport, peer, tag(Lane::up), up_frames, kCallsKept);
    }
    if (const auto frames = down_frames_of(peer); !frames.empty()) {
      downs_[peer] =
          std::make_unique<FrameStream>(transport, peer, tag(Lane::down), frames, kCallsKept);
    }
    for (std::size_t room = 0; room < down_frames_.size(); ++room) {
      down_senders_[peer].push_back(
          transport.sender(peer, tag(Lane::down), down_frames_.room(room)));
    }
  }
  if (!setup().grace.is_late) arrivals_.emplace(senders, setup().grace.share);
}

std::size_t GraceOwner::down_bytes_max(const Piece& piece) const {
  return down(piece).payload_bytes_max(piece.of_tensor.elements,
                                       layout().parts[piece.part].elements);
}

std::vector<std::size_t> GraceOwner::down_frames_of(std::size_t owner) const {
  return frame_sizes(layout().segments_of(layout().chunks[owner]), [this](const Segment& segment) {
    std::size_t bytes =
        kFrameHeaderBytes + parcel_head_bytes(segment.piece_count) + CountedRanks::bytes(ranks());
    for (const Piece& piece : layout().pieces_of(segment)) bytes += down_bytes_max(piece);
    return bytes;
  });
}

std::vector<TensorPiece> GraceOwner::owned() const {
  std::vector<TensorPiece> owned;
  for (const auto& [tensor, first, elements] : layout().parts_of(own_chunk())) {
    owned.push_back({.tensor = tensor, .first = first, .elements = elements});
  }
  return owned;
}

// --- This rank's own calls ---

void GraceOwner::begin_call(std::uint64_t step, OwnerPort* port) {
  if (calls_begun_ == 0) first_step_ = step;
  GW_CHECK(step == step_of(calls_begun_));
  ++calls_begun_;
  port_ = port;
  if (port_ != nullptr && settled_ == closed() && !is_decided_) port_->settle_unit();
}

void GraceOwner::give(std::span<const Written> own) {
  if (closed() >= calls_begun_) return;
  is_given_ = true;
  given_ = own;
}

void GraceOwner::keep_late(std::span<const Written> own) {
  for (std::size_t i = 0; i < own.size(); ++i) {
    if (own[i].finite) uploads().keep(rank(), i, own[i].parcel);
  }
}

void GraceOwner::give_repeat() { is_given_ = closed() < calls_begun_; }

bool GraceOwner::has_result(std::size_t segment) const {
  const std::uint64_t call = calls_begun_ - 1;
  const std::size_t owner = owner_of(layout(), segment);
  if (owner == rank()) return closed() > call;
  const Chunk& chunk = layout().chunks[owner];
  return results_here_[owner] > call * chunk.segment_count + (segment - chunk.first_segment);
}

ExchangeReport GraceOwner::end_call() {
  for (std::size_t owner = 0; owner < ranks(); ++owner) {
    if (!downs_[owner]) continue;
    for (std::size_t i = 0; i < layout().chunks[owner].segment_count; ++i) downs_[owner]->pop();
  }
  return std::exchange(report(), {});
}

// --- Turns ---

bool GraceOwner::take_turn(PeerLinks& links) {
  waits_for_time_ = false;
  if (is_retired_ || calls_begun_ == 0) return false;
  attach(links);
  if (take_results() || settle()) return true;
  if (own_chunk().segment_count == 0) return false;
  if (drop_late()) return true;
  if (!is_decided_) {
    note_deliveries();
    if (!decide()) return false;
  }
  reduce_next();
  return true;
}

std::optional<Service::Time> GraceOwner::due() const {
  return waits_for_time_ ? arrivals_->closes_at() : std::nullopt;
}

// --- Means that come down ---

bool GraceOwner::take_results() {
  bool has_taken = false;
  for (std::size_t owner = 0; owner < ranks(); ++owner) {
    if (!downs_[owner]) continue;
    while (downs_[owner]->arrived() > results_here_[owner]) {
      take_result(owner, results_here_[owner]++);
      has_taken = true;
    }
  }
  std::uint64_t complete = own_chunk().segment_count > 0 ? closed() : std::uint64_t(-1);
  for (std::size_t owner = 0; owner < ranks(); ++owner) {
    if (!downs_[owner]) continue;
    complete = std::min(complete, results_here_[owner] / layout().chunks[owner].segment_count);
  }
  complete_calls_.store(complete, std::memory_order_release);
  return has_taken;
}

void GraceOwner::take_result(std::size_t owner, std::uint64_t index) {
  const Chunk& chunk = layout().chunks[owner];
  const std::uint64_t call = index / chunk.segment_count;
  const std::size_t number = chunk.first_segment + index % chunk.segment_count;
  const Segment& segment = layout().segments[number];
  set_step(step_of(call));
  const auto frame = expected_frame(downs_[owner]->frame(index), down_kind_, segment, owner);
  if (!frame) refuse_frame(owner, frame.error());
  links().presence.heard(owner);
  report().traffic.bytes_received += frame->bytes();
  Result& result = at(call, number);
  const auto parcel = open_counted_parcel(frame->payload, segment.piece_count, result.counted);
  if (!parcel) refuse_frame(owner, parcel.error());
  result.parcel = *parcel;
  result.poison = frame->header.poison;
}

// Memories follow a mean that all ranks commit: none does if another owner's is poisoned. So the
// next mean has to wait for the last ones of the other owners.
bool GraceOwner::settle() {
  if (settled_ == complete_calls() || settled_ == closed()) return false;
  const std::uint64_t call = settled_++;
  const bool poison = is_poisoned(call);
  poison ? uploads().forget() : uploads().commit();
  if (port_ == nullptr) return true;
  if (!poison) commit_owned();
  port_->settle_unit();
  return true;
}

void GraceOwner::commit_owned() {
  const StopWatch watch(report().phases.decode_seconds);
  PieceMemory& memory = threads().own_memory();
  for (std::size_t i = 0; i < own_chunk().segment_count; ++i) {
    const Segment& segment = own_segments()[i];
    ParcelReader parcel = open_own(sent_down_[i], segment);
    for (const Piece& piece : layout().pieces_of(segment)) {
      const std::span<float> sent = memory.scratch(piece.of_tensor.elements);
      check(down(piece).decode(parcel.next(), sent, memory.workspace), rank());
      port_->commit(piece.of_tensor, within(own_mean(piece.part), piece), sent);
    }
  }
}

bool GraceOwner::is_poisoned(std::uint64_t call) const {
  bool poison = false;
  for (std::size_t i = 0; i < layout().segments.size(); ++i) {
    poison = poison || at(call, i).poison;
  }
  return poison;
}

// --- Who is counted ---

bool GraceOwner::drop_late() {
  bool has_dropped = false;
  for (std::size_t peer = 0; peer < ranks(); ++peer) {
    if (!ups_[peer]) continue;
    FrameStream& frames = *ups_[peer];
    while (frames.calls_taken() < settled_ && frames.arrived() > frames.taken()) {
      set_step(step_of(frames.calls_taken()));
      const Segment& segment = own_segments()[frames.taken() % own_chunk().segment_count];
      const auto frame = expected_frame(frames.frame(frames.taken()), up_kind(), segment, peer);
      if (!frame) refuse_frame(peer, frame.error());
      links().presence.heard(peer);
      report().traffic.bytes_received += frame->bytes();
      if (setup().keeps_uploads) take_late(peer, *frame, frames.taken());
      frames.pop();
      has_dropped = true;
    }
  }
  return has_dropped;
}

// The rank has remembered it, unless its call was poisoned.
void GraceOwner::take_late(std::size_t peer, const Frame& frame, std::size_t index) {
  const std::size_t segment = index % own_chunk().segment_count;
  const std::uint64_t call = index / own_chunk().segment_count;
  if (frame.header.repeat || frame.header.poison || is_poisoned(call)) return;
  const auto parcel = ParcelReader::open(frame.payload, own_segments()[segment].piece_count);
  if (!parcel) refuse_frame(peer, parcel.error());
  uploads().keep(peer, segment, frame.payload);
}

bool GraceOwner::is_here(std::size_t rank_asked) {
  if (rank_asked == rank()) return is_given_;
  FrameStream& frames = *ups_[rank_asked];
  return frames.calls_taken() == closed() && frames.has_call(closed());
}

bool GraceOwner::has_upload(std::size_t peer) {
  return !uploads().at(peer, 0).empty();  // those of a call are kept together
}

void GraceOwner::note_deliveries() {
  for (std::size_t peer = 0; peer < ranks(); ++peer) {
    if (!contributes(peer) || delivered_.has(peer) || !is_here(peer)) continue;
    delivered_.add(peer);
    if (arrivals_) arrivals_->deliver(std::chrono::steady_clock::now());
  }
}

// Nobody's last upload stands in for a rank that has never sent one.
bool GraceOwner::needs(std::size_t peer) {
  return contributes(peer) && setup().keeps_uploads && !has_upload(peer);
}

bool GraceOwner::waits_for(std::size_t peer) {
  const auto& is_late = setup().grace.is_late;
  return contributes(peer) && (!is_late || !is_late(peer, step_of(closed())) || needs(peer));
}

bool GraceOwner::may_leave_out(std::size_t peer) {
  return !needs(peer) && (!arrivals_ || left_out_[peer] < kLeftOutMax);
}

bool GraceOwner::decide() {
  if (settled_ != closed() || !may_go_ahead()) return false;
  bool is_complete = true;
  counted_.clear();
  for (std::size_t peer = 0; peer < ranks(); ++peer) {
    if (!waits_for(peer)) continue;
    if (delivered_.has(peer)) counted_.add(peer);
    if (!delivered_.has(peer) && !may_leave_out(peer)) return false;
    is_complete = is_complete && delivered_.has(peer);
  }
  if (!is_complete) {
    const auto at = arrivals_ ? arrivals_->closes_at() : std::nullopt;
    waits_for_time_ = at && std::chrono::steady_clock::now() < *at;
    if (!at || waits_for_time_) return false;
  }
  is_decided_ = true;
  reduced_ = 0;
  // Here, and not by whichever thread needs them first.
  own_mean(own_chunk().first_part);
  own_wanted(own_chunk().first_part);
  if (!downs().needs_whole_tensor()) measure_parts();
  return true;
}

// Rooms are used again after kCallsKept calls. A rank that has sent a message for a call has taken
// the means of all calls before.
bool GraceOwner::may_go_ahead() {
  if (closed() < kStepsAheadMax) return true;
  const std::uint64_t needed = closed() - kStepsAheadMax;
  if (calls_begun_ <= needed) return false;
  for (std::size_t peer = 0; peer < ranks(); ++peer) {
    if (ups_[peer] && !ups_[peer]->has_call(needed)) return false;
    for (std::size_t i = 0; peer != rank() && i < own_chunk().segment_count; ++i) {
      if (!down_senders_[peer][down_room(i)]->done()) return false;
    }
  }
  return true;
}

// --- The mean ---

void GraceOwner::reduce_next() {
  set_step(step_of(closed()));
  const std::size_t index = reduced_++;
  poisoned_[index] = open_contributions(index);
  count_only(setup().keeps_uploads ? nullptr : &counted_);  // last uploads count for late ranks
  weights_[index] = weigh(own_segments()[index], parcels_);
  const bool is_whole = downs().needs_whole_tensor();
  is_whole ? average_segment(index) : send_down(index);
  if (reduced_ < own_chunk().segment_count) return;
  if (is_whole) {
    measure_parts();
    for (std::size_t i = 0; i < reduced_; ++i) send_down(i);
  }
  close();
}

bool GraceOwner::open_contributions(std::size_t index) {
  bool poison = false;
  for (std::size_t peer = 0; peer < ranks(); ++peer) {
    const bool is_used = setup().keeps_uploads ? contributes(peer) : counted_.has(peer);
    if (is_used) parcels_[peer] = parcel_of(peer, index, poison);
  }
  return poison;
}

// A rank's message, or where uploads are kept the last one, if there is none or it is late.
ParcelReader GraceOwner::parcel_of(std::size_t peer, std::size_t index, bool& poison) {
  const Segment& segment = own_segments()[index];
  const auto last = [&] {
    const auto parcel = ParcelReader::open(uploads().at(peer, index), segment.piece_count);
    GW_CHECK(parcel.has_value());
    return *parcel;
  };
  if (!counted_.has(peer)) return last();
  if (peer == rank()) {
    if (given_.empty()) return last();
    poison = poison || !given_[index].finite;
    if (setup().keeps_uploads) uploads().note(peer, index, given_[index].parcel);
    return open_own(given_[index], segment);
  }
  const auto bytes = ups_[peer]->frame(closed() * own_chunk().segment_count + index);
  const auto frame = expected_frame(bytes, up_kind(), segment, peer);
  if (!frame) refuse_frame(peer, frame.error());
  links().presence.heard(peer);
  report().traffic.bytes_received += frame->bytes();
  if (setup().keeps_uploads && frame->header.repeat) {
    if (uploads().at(peer, index).empty()) {
      refuse_frame(peer, {"it repeats what it never sent", kFrameFlagsAt});
    }
    return last();
  }
  const auto parcel = ParcelReader::open(frame->payload, segment.piece_count);
  if (!parcel) refuse_frame(peer, parcel.error());
  poison = poison || frame->header.poison;
  if (setup().keeps_uploads) uploads().note(peer, index, frame->payload);
  return *parcel;
}

void GraceOwner::close() {
  for (std::size_t peer = 0; peer < ranks(); ++peer) {
    left_out_[peer] = counted_.has(peer) ? 0 : left_out_[peer] + 1;
    if (!ups_[peer] || !counted_.has(peer)) continue;
    for (std::size_t i = 0; i < own_chunk().segment_count; ++i) ups_[peer]->pop();
  }
  if (arrivals_) arrivals_->close();
  delivered_.clear();
  is_given_ = false;
  given_ = {};
  is_decided_ = false;
  closed_.store(closed() + 1, std::memory_order_release);
}

// The exact mean of what was counted, and what the port makes of it.
std::optional<BadPayload> GraceOwner::average_own(const Piece& piece, std::size_t i,
                                                  PieceMemory& memory,
                                                  std::span<const float>& wanted) {
  const std::span<float> mean = within(own_mean(piece.part), piece);
  const StopWatch watch(memory.decode_seconds);
  if (auto bad = average(piece, i, memory, mean)) return bad;
  wanted = mean;
  if (port_ == nullptr) return std::nullopt;
  const std::span<float> prepared = within(own_wanted(piece.part), piece);
  port_->prepare(piece.of_tensor, mean, prepared);
  wanted = prepared;
  return std::nullopt;
}

void GraceOwner::average_segment(std::size_t index) {
  const Segment& segment = own_segments()[index];
  for_pieces(layout().pieces_of(segment), is_shared(segment),
             [&](const Piece& piece, std::size_t i, PieceMemory& memory) {
               std::span<const float> wanted;
               return average_own(piece, i, memory, wanted);
             });
}

void GraceOwner::measure_parts() {
  const StopWatch watch(report().phases.encode_seconds);
  const std::span<const Part> parts = layout().parts_of(own_chunk());
  measure_each(
      parts.size(), [&](std::size_t i) { return parts[i].elements; },
      [&](std::size_t i, ThreadPool& pool) {
        const std::size_t tensor = parts[i].tensor;
        downs().of(tensor).measure(own_wanted(own_chunk().first_part + i),
                                   rng(tensor, Purpose::downlink, rank()), part_scales_[i], pool);
      });
}

void GraceOwner::send_down(std::size_t index) {
  const Segment& segment = own_segments()[index];
  const std::span<std::byte> memory = down_frames_.room(down_room(index));
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
        const StopWatch watch(thread.encode_seconds);
        return down(piece).encode(part_scales_[piece.part - own_chunk().first_part],
                                  {.values = wanted, .first = piece.first_in_part},
                                  rng(piece.of_tensor.tensor, Purpose::downlink, rank()), room,
                                  thread.workspace);
      });
  const std::size_t parcel_bytes = written.parcel.size();
  const std::size_t tail = CountedRanks::bytes(ranks());
  counted_.write(memory.subspan(kFrameHeaderBytes + parcel_bytes, tail));
  const bool poison = poisoned_[index] || !written.finite;
  const auto frame = seal(down_kind_, segment, poison,
                          memory.subspan(kFrameHeaderBytes, parcel_bytes + tail), memory);
  Result& own = at(closed(), own_chunk().first_segment + index);
  own.parcel = open_own(written, segment);
  own.counted = counted_;
  own.poison = poison;
  for (auto& senders : down_senders_) {
    if (!senders.empty()) send(*senders[down_room(index)], frame);
  }
}

}  // namespace gradwire
