#include "gradwire/collective/ring_exchange.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "gradwire/kernel/floats.h"
#include "gradwire/kernel/sums.h"

namespace gradwire {
namespace {

// Payloads that can be summed are floats in memory; frames put them at multiples of four bytes.
std::span<float> as_floats(std::span<std::byte> bytes) {
  return {reinterpret_cast<float*>(bytes.data()), bytes.size() / sizeof(float)};
}
std::span<const float> as_floats(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const float*>(bytes.data()), bytes.size() / sizeof(float)};
}

}  // namespace

// With S_k the sum of the first k vectors and e_k its error: E|e_k|^2 <= (1 + omega) E|e_(k-1)|^2 +
// omega |S_k|^2, and |S_k|^2 <= N sum |v_i|^2. There are N roundings, that of the mean included.
double ring_omega(double omega, std::size_t ranks) {
  return std::pow(1 + omega, static_cast<double>(ranks)) - 1;
}

RingExchange::RingExchange(Communicator::Impl& communicator, ExchangeSetup given,
                           Transport& transport)
    : ExchangeBase(communicator, std::move(given)),
      is_summed_(ups().common().summable_from().has_value()),
      mean_kind_{.codecs = downs(),
                 .fingerprint = fingerprint(downs().spec()),
                 .direction = Direction::down},
      own_frames_(frame_sizes(is_summed_ && *ups().common().summable_from() > 0
                                  ? std::span<const Segment>(layout().segments)
                                  : std::span<const Segment>(),
                              [this](const Segment& s) { return up_frame_bytes_max(s); })),
      own_written_(own_frames_.size()),
      mean_parcels_(frame_sizes(setup().is_ported ? std::span<const Segment>(layout().segments)
                                                  : std::span<const Segment>(),
                                [this](const Segment& s) { return hop_frame_bytes_max(s); })),
      mean_written_(mean_parcels_.size()),
      out_frames_(std::vector<std::size_t>(ring_rooms(layout()),
                                           [this] {
                                             std::size_t bytes = 0;
                                             for (const Segment& s : layout().segments)
                                               bytes = std::max(bytes, hop_frame_bytes_max(s));
                                             return bytes;
                                           }())),
      hops_(ring_hops(layout(), rank(), ranks())) {
  if (ranks() == 1) return;
  const std::size_t rooms = out_frames_.size();
  for (std::size_t i = 0; i < rooms; ++i) {
    senders_.push_back(
        transport.sender((rank() + 1) % ranks(), tag(Lane::hop), out_frames_.room(i)));
  }
  inbox_ = std::make_unique<Inbox>(transport, rank_behind(1), tag(Lane::hop),
                                   out_frames_.room_bytes_max(), rooms);
}

std::size_t RingExchange::hop_frame_bytes_max(const Segment& segment) const {
  std::size_t bytes = kFrameHeaderBytes + parcel_head_bytes(segment.piece_count);
  for (const Piece& piece : layout().pieces_of(segment)) {
    const std::size_t elements = piece.of_tensor.elements;
    const std::size_t tensor = is_summed_ ? setup().tensors[piece.of_tensor.tensor].elements
                                          : elements;  // rounding again, a piece is its own tensor
    bytes += std::max(ups().common().payload_bytes_max(elements, tensor),
                      downs().common().payload_bytes_max(elements, tensor));
  }
  return bytes;
}

void RingExchange::begin_call() {
  prepared_ = hopped_ = sent_ = committed_ = 0;
  if (inbox_) {
    inbox_->expect(static_cast<std::size_t>(
        std::ranges::count_if(hops_, [](const RingHop& hop) { return hop.comes; })));
  }
}

Turn RingExchange::advance_call() {
  if (prepare_next()) return Turn::worked;
  if (hopped_ < hops_.size()) return hop_next() ? Turn::worked : Turn::waiting;
  if (setup().is_ported && committed_ < layout().segments.size()) {
    commit_next();
    return Turn::worked;
  }
  return has_sent_all() ? Turn::finished : Turn::waiting;
}

// Makes the own payloads, if there are any: otherwise the values themselves are added.
bool RingExchange::prepare_next() {
  if (prepared_ == layout().segments.size()) return false;
  if (own_frames_.size() == 0) {
    if (setup().is_ported) prepare_all();
    prepared_ = layout().segments.size();
    return true;
  }
  if (prepared_ == 0) measure_values();
  own_written_[prepared_] = encode_up(layout().segments[prepared_], own_frames_.room(prepared_));
  ++prepared_;
  return true;
}

// Waiting for room cannot go round in a circle: a rank sends one frame for each that it takes,
// after the first chunk, which finds room in any case.
bool RingExchange::hop_next() {
  const RingHop& hop = hops_[hopped_];
  if (hop.comes && !inbox_->is_ready()) return false;
  if (hop.goes && !has_room()) return false;
  ++hopped_;
  if (hop.kind == RingHop::Kind::mean) {
    pass_mean(hop);
  } else if (hop.comes) {
    const Incoming incoming =
        open_front(*inbox_, up_kind(), layout().segments[hop.segment], inbox_->peer());
    add_own(hop.segment, &incoming, hop.kind == RingHop::Kind::last_sum);
  } else {
    add_own(hop.segment, nullptr, hop.kind == RingHop::Kind::last_sum);
  }
  if (hop.comes) inbox_->pop();
  return true;
}

void RingExchange::pass_mean(const RingHop& hop) {
  const Incoming incoming =
      open_front(*inbox_, mean_kind_, layout().segments[hop.segment], hop.owner);
  if (hop.goes) {
    const std::span<std::byte> room = next_room();
    std::copy(incoming.frame.begin(), incoming.frame.end(), room.begin());
    send_room(room.first(incoming.frame.size()));
  }
  report().poisoned = report().poisoned || incoming.poison;
  take_mean(hop.segment, incoming.frame.subspan(kFrameHeaderBytes), hop.owner);
}

bool RingExchange::has_sent_all() {
  return std::ranges::all_of(senders_, [](const auto& sender) { return sender->done(); });
}

void RingExchange::add_own(std::size_t segment_index, const Incoming* incoming, bool is_mean) {
  const Segment& segment = layout().segments[segment_index];
  const std::span<std::byte> memory = next_room();
  ParcelReader came = incoming != nullptr ? incoming->parcel : ParcelReader();
  ParcelReader* const parcel = incoming != nullptr ? &came : nullptr;
  const Written written = is_summed_ ? sum_payloads(segment_index, parcel, is_mean, memory)
                                     : round_again(segment, parcel, is_mean, memory);
  const bool poison = !written.finite || (incoming != nullptr && incoming->poison);
  const FrameKind& kind = is_mean ? mean_kind_ : up_kind();
  if (ranks() > 1) send_room(seal(kind, segment, poison, written.parcel, memory));
  const bool is_counted = own_frames_.size() > 0;  // when it was encoded
  if (!is_counted) report().traffic.message_bytes += kFrameHeaderBytes + written.parcel.size();
  if (!is_mean) return;
  report().poisoned = report().poisoned || poison;
  take_mean(segment_index, written.parcel, rank());
}

void RingExchange::take_mean(std::size_t segment_index, std::span<const std::byte> parcel,
                             std::size_t owner) {
  const Segment& segment = layout().segments[segment_index];
  if (setup().is_ported) {
    std::copy(parcel.begin(), parcel.end(), mean_parcels_.room(segment_index).begin());
    mean_written_[segment_index] = mean_parcels_.room(segment_index).first(parcel.size());
  } else {
    decode_into_means(mean_kind_, segment, open_own({.parcel = parcel}, segment), owner);
  }
}

void RingExchange::commit_next() {
  const std::size_t index = committed_++;
  const Segment& segment = layout().segments[index];
  ParcelReader means_came = open_own({.parcel = mean_written_[index]}, segment);
  ParcelReader own =
      own_frames_.size() > 0 ? open_own(own_written_[index], segment) : ParcelReader();
  mean_payloads_.clear();
  for (std::size_t p = 0; p < segment.piece_count; ++p) {
    mean_payloads_.push_back(means_came.next());
  }
  commit_segment(
      segment,
      [&](const Piece& piece) {
        return SentPayload::counted(
            own_frames_.size() > 0 ? own.next() : std::as_bytes(values(piece.of_tensor)));
      },
      [&](const Piece&, std::size_t p, PieceMemory& memory, std::span<float> mean, float scale) {
        const auto decoded = downs().common().decode(mean_payloads_[p], mean, memory.workspace);
        if (decoded) scale_by(scale, mean);
        return bad_if(decoded, rank_behind(1));
      });
}

Written RingExchange::sum_payloads(std::size_t segment_index, ParcelReader* incoming, bool is_mean,
                                   std::span<std::byte> memory) {
  const StopWatch watch(report().phases.encode_seconds);
  const Segment& segment = layout().segments[segment_index];
  const std::span<const Piece> pieces = layout().pieces_of(segment);
  const bool is_encoded = own_frames_.size() > 0;
  const double weight = double{call().weight} + (incoming ? double{incoming->weight()} : 0.0);
  ParcelReader own = is_encoded ? open_own(own_written_[segment_index], segment) : ParcelReader();
  ParcelWriter sum(memory.subspan(kFrameHeaderBytes), pieces.size(), static_cast<float>(weight));
  bool finite = !is_encoded || own_written_[segment_index].finite;
  for (const Piece& piece : pieces) {
    const auto payload = is_encoded ? own.next() : std::as_bytes(values(piece.of_tensor));
    const auto came = incoming != nullptr ? incoming->next() : std::span<const std::byte>();
    if (incoming != nullptr && came.size() != payload.size()) {
      // Either of them may be poisoned, but it has to be a payload.
      PieceMemory& own_memory = threads().own_memory();
      check(ups().common().decode(came, own_memory.scratch(piece.of_tensor.elements),
                                  own_memory.workspace),
            rank_behind(1));
    }
    const std::span<std::byte> room = sum.room();
    const std::size_t bytes = sum_payload(payload, incoming != nullptr ? &came : nullptr,
                                          is_mean ? mean_factor(weight) : 1.0F, room);
    sum.add(bytes);
    // A NaN or an infinity stays one in all sums, so a look at the last one is enough.
    if (is_mean) {
      const std::size_t from = std::min(*ups().common().summable_from(), bytes);
      finite = finite && kernel::is_finite_magnitude(kernel::largest_magnitude(
                             as_floats(room.subspan(from, bytes - from))));
    }
  }
  return {.parcel = sum.bytes(), .finite = finite};
}

std::size_t RingExchange::sum_payload(std::span<const std::byte> own,
                                      const std::span<const std::byte>* came, float scale,
                                      std::span<std::byte> sum) {
  const std::size_t from = *ups().common().summable_from();
  // A payload without floats says that the tensor is poisoned; so is the sum then.
  const bool is_poisoned_before = came != nullptr && own.size() >= from && came->size() < from;
  if (own.size() < from || is_poisoned_before) {
    const auto poisoned = is_poisoned_before ? *came : own;
    std::copy(poisoned.begin(), poisoned.end(), sum.begin());
    return poisoned.size();
  }
  const auto floats = as_floats(sum.subspan(from, own.size() - from));
  if (came == nullptr) {
    std::copy(own.begin(), own.end(), sum.begin());
    scale_by(call().weight, floats);
  } else {
    if (came->size() != own.size() || !std::equal(own.begin(), own.begin() + from, came->begin())) {
      links().presence.fail(rank_behind(1), "its sum has other indices than this rank's");
    }
    std::copy(came->begin(), came->end(), sum.begin());
    kernel::add_weighted(as_floats(own.subspan(from)), call().weight, floats, {});
  }
  scale_by(scale, floats);
  return own.size();
}

Written RingExchange::round_again(const Segment& segment, ParcelReader* incoming, bool is_mean,
                                  std::span<std::byte> memory) {
  const double weight = double{call().weight} + (incoming ? double{incoming->weight()} : 0.0);
  const Codec& codec = is_mean ? downs().common() : ups().common();
  came_.clear();
  for (std::size_t i = 0; i < segment.piece_count && incoming != nullptr; ++i) {
    came_.push_back(incoming->next());
  }
  return write_parcel(
      segment, static_cast<float>(weight), memory,
      [&](const Piece& piece) { return codec.payload_bytes_max(piece.of_tensor.elements); },
      [&](const Piece& piece, std::size_t i, std::span<std::byte> room,
          PieceMemory& thread) -> Expected<Encoded, BadPayload> {
        const StopWatch watch(thread.encode_seconds);
        const TensorPiece& part = piece.of_tensor;
        const std::span<float> sum = thread.scratch(part.elements);
        std::copy_n(values(part).begin(), sum.size(), sum.begin());
        scale_by(call().weight, sum);
        if (incoming != nullptr) {
          const auto added = ups().common().decode_add(came_[i], 1, sum, thread.workspace);
          if (!added) return Unexpected{BadPayload{rank_behind(1), added.error()}};
        }
        if (is_mean) scale_by(mean_factor(weight), sum);
        // A piece is a tensor of its own here, with random numbers of its own.
        Rng random = rng(part.tensor, is_mean ? Purpose::downlink : Purpose::hop, rank());
        random.tensor += 0x9e3779b97f4a7c15u * (part.first + 1);
        codec.measure(sum, random, thread.scale);
        return codec.encode(thread.scale, {.values = sum, .first = 0}, random, room,
                            thread.workspace);
      });
}

void RingExchange::send_room(std::span<const std::byte> frame) {
  send(*senders_[sent_ % out_frames_.size()], frame);
  ++sent_;
}

void RingExchange::walk_own(const Visitor& visit) const {
  if (!is_summed_) {
    throw Error("on a ring that rounds at every hop a rank has no message of its own");
  }
  if (own_frames_.size() > 0) return walk(own_written_, visit);
  for (const Piece& piece : layout().pieces) {
    visit(plain_piece(piece));
  }
}

}  // namespace gradwire
