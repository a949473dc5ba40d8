#include "gradwire/collective/plain_ring_exchange.h"

#include <algorithm>

#include "gradwire/kernel/floats.h"
#include "gradwire/kernel/sums.h"

namespace gradwire {
namespace {

// Sums that start here and are on their way. More would leave the cache before they are sent.
constexpr std::size_t kStartsAhead = 2;

// Two neighbours take every sum out of its room at once.
constexpr std::size_t kRoomsOfTwo = 4;

// The values that are added, and whose checksums are taken, while they are in the nearest cache.
constexpr std::size_t kBlock = 4096;

std::span<float> as_floats(std::span<std::byte> bytes) {
  return {reinterpret_cast<float*>(bytes.data()), bytes.size() / sizeof(float)};
}

std::span<const float> as_floats(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const float*>(bytes.data()), bytes.size() / sizeof(float)};
}

template <class Stop>
auto is_sent() {
  return [](const Stop& stop) { return !stop.sender || stop.sender->done(); };
}

}  // namespace

PlainRingExchange::PlainRingExchange(Communicator::Impl& communicator, ExchangeSetup given,
                                     Transport& transport)
    : ExchangeBase(communicator, std::move(given)),
      mean_kind_{.codecs = downs(),
                 .fingerprint = fingerprint(downs().spec()),
                 .direction = Direction::down},
      heads_([this] {
        std::vector<std::size_t> bytes;
        for (const RingHop& hop : ring_hops(layout(), rank(), ranks())) {
          bytes.push_back(head_bytes(layout().segments[hop.segment]));
        }
        return bytes;
      }()),
      rooms_(std::vector<std::size_t>(ranks() == 2 ? kRoomsOfTwo : ring_rooms(layout()), [this] {
        std::size_t bytes = 0;
        for (const Segment& segment : layout().segments) {
          bytes = std::max(bytes, frame_bytes(segment));
        }
        return bytes;
      }())) {
  GW_CHECK(ranks() > 1);
  for (const Segment& segment : layout().segments) {
    const std::size_t first = tensor_pieces_.size();
    for (const Piece& piece : layout().pieces_of(segment)) {
      const TensorPiece& next = piece.of_tensor;
      if (tensor_pieces_.size() > first && tensor_pieces_.back().tensor == next.tensor) {
        tensor_pieces_.back().elements += next.elements;
      } else {
        tensor_pieces_.push_back(next);
      }
    }
    stretches_.push_back({first, tensor_pieces_.size() - first});
  }
  for (const Piece& piece : layout().pieces) {
    piece_bytes_.push_back(piece.of_tensor.elements * sizeof(float));
  }
  values_out_.resize(tensor_pieces_.size());
  means_out_.resize(tensor_pieces_.size());
  means_in_.resize(tensor_pieces_.size());

  const std::size_t ahead = (rank() + 1) % ranks(), behind = rank_behind();
  for (const RingHop& hop : ring_hops(layout(), rank(), ranks())) {
    const std::size_t number = starts_.size() + sums_.size() + means_.size();
    const auto head = heads_.room(number).first(head_bytes(layout().segments[hop.segment]));
    const bool is_mean = hop.kind == RingHop::Kind::mean;
    const Lane lane = hop.kind == RingHop::Kind::last_sum || is_mean ? Lane::down : Lane::hop;
    Stop stop{.hop = hop, .head = head, .sender = nullptr, .receiver = nullptr, .sum = {}};
    if (hop.goes) stop.sender = transport.sender(ahead, tag(lane), head);
    if (is_mean) stop.receiver = transport.receiver(behind, tag(Lane::down), head);
    (is_mean ? means_ : hop.comes ? sums_ : starts_).push_back(std::move(stop));
  }
  for (std::size_t i = 0; i < rooms_.size(); ++i) {
    receivers_.push_back(transport.receiver(behind, tag(Lane::hop), rooms_.room(i)));
  }
}

void PlainRingExchange::begin_call() {
  started_ = added_ = released_ = taken_ = 0;
  set_memory();
  for (std::size_t i = 0; i < std::min(receivers_.size(), sums_.size()); ++i) {
    receivers_[i]->start();
  }
  for (const Stop& stop : means_) stop.receiver->start(stretches_of(stop, means_in_));
}

// Where the values and the means of this call are.
void PlainRingExchange::set_memory() {
  for (std::size_t i = 0; i < tensor_pieces_.size(); ++i) {
    values_out_[i] = std::as_bytes(values(tensor_pieces_[i]));
    means_in_[i] = std::as_writable_bytes(means(tensor_pieces_[i]));
    means_out_[i] = means_in_[i];
  }
  if (call().weight == 1) return;
  std::size_t elements = 0;
  for (const Stop& stop : starts_) elements += segment_of(stop).elements;
  weighted_.resize(elements);
}

// Means first: others wait for them.
Turn PlainRingExchange::advance_call() {
  release_rooms();
  if (take_mean() || add_sum() || start_sum()) return Turn::worked;
  const bool has_all = taken_ == means_.size() && added_ == sums_.size() &&
                       started_ == starts_.size() && has_sent_all();
  return has_all ? Turn::finished : Turn::waiting;
}

bool PlainRingExchange::start_sum() {
  if (started_ == starts_.size()) return false;
  if (started_ >= kStartsAhead && !starts_[started_ - kStartsAhead].sender->done()) return false;
  send_values(starts_[started_++]);
  return true;
}

// Sums that go on follow those that start here, as the neighbour expects them.
bool PlainRingExchange::add_sum() {
  if (added_ == sums_.size() || added_ == released_ + receivers_.size()) return false;
  if (sums_[added_].hop.kind == RingHop::Kind::sum && started_ < starts_.size()) return false;
  if (!receivers_[added_ % receivers_.size()]->done()) return false;
  Stop& stop = sums_[added_];
  add_values(stop, rooms_.room(added_ % rooms_.size()));
  ++added_;
  return true;
}

// A sum that goes on is in its room until it has gone.
void PlainRingExchange::release_rooms() {
  for (; released_ < added_; ++released_) {
    const Stop& stop = sums_[released_];
    if (stop.hop.kind == RingHop::Kind::sum && !stop.sender->done()) return;
    if (released_ + receivers_.size() < sums_.size()) {
      receivers_[released_ % receivers_.size()]->start();
    }
  }
}

bool PlainRingExchange::has_sent_all() {
  return std::ranges::all_of(starts_, is_sent<Stop>()) &&
         std::ranges::all_of(sums_, is_sent<Stop>()) &&
         std::ranges::all_of(means_, is_sent<Stop>());
}

void PlainRingExchange::write_head(const Stop& stop, bool poison, float weight,
                                   std::span<std::byte> head) const {
  const Segment& segment = segment_of(stop);
  FrameHeader header = header_of(kind_of(stop), segment);
  header.poison = poison;
  write_frame_fields(header, payload_bytes(segment), head);
  ParcelWriter parcel(head.subspan(kFrameHeaderBytes), segment.piece_count, weight);
  for (const std::size_t length : lengths_of(segment)) parcel.add(length);
}

PlainRingExchange::Head PlainRingExchange::open_head(const Stop& stop, std::size_t sender,
                                                     const MessageRoom& frame,
                                                     std::span<const std::byte> head) {
  const Segment& segment = segment_of(stop);
  const auto fields = parse_frame_fields(head);
  if (!fields) refuse_frame(rank_behind(), fields.error());
  // The sum that comes to its owner is not a mean yet.
  const FrameKind& kind = stop.hop.kind == RingHop::Kind::mean ? mean_kind_ : up_kind();
  const auto expected = check_header(fields->header, kind, segment, sender);
  const auto weight = check_parcel_head(head.subspan(kFrameHeaderBytes), fields->payload_bytes,
                                        lengths_of(segment));
  if (!expected || !weight) {
    check_sum(frame, head, fields->payload_bytes);  // a damaged frame may say anything
    refuse_frame(rank_behind(), !expected ? expected.error() : weight.error());
  }
  links().presence.heard(rank_behind());
  report().traffic.bytes_received += frame_bytes(segment);
  return {.poison = fields->header.poison, .weight = *weight};
}

void PlainRingExchange::check_sum(const MessageRoom& frame, std::span<const std::byte> head,
                                  std::size_t payload_bytes) {
  if (payload_bytes > frame.bytes() - kFrameHeaderBytes) {
    refuse_frame(rank_behind(), {"the bytes end within a frame's payload", frame.bytes()});
  }
  FrameChecksum sum(head);
  frame.for_each(kFrameHeaderBytes, kFrameHeaderBytes + payload_bytes,
                 [&](std::span<const std::byte> part) {
                   sum.add(part);
                   return true;
                 });
  const auto checked = sum.check(head);
  if (!checked) refuse_frame(rank_behind(), checked.error());
}

void PlainRingExchange::send_values(Stop& stop) {
  const Segment& segment = segment_of(stop);
  {
    const StopWatch watch(report().phases.encode_seconds);
    write_head(stop, false, call().weight, stop.head);
    FrameChecksum sum(stop.head);
    sum.add(stop.head.subspan(kFrameHeaderBytes));
    const auto parts =
        std::span(values_out_)
            .subspan(stretches_[stop.hop.segment].first, stretches_[stop.hop.segment].count);
    std::size_t at =
        segment.first_element - layout().segments[starts_.front().hop.segment].first_element;
    for (std::span<const std::byte>& part : parts) {
      if (call().weight != 1) {
        const auto weighted = std::span(weighted_).subspan(at, part.size() / sizeof(float));
        std::ranges::copy(as_floats(part), weighted.begin());
        scale_by(call().weight, weighted);
        part = std::as_bytes(weighted);
        at += weighted.size();
      }
      sum.add(part);
    }
    sum.write(stop.head);
  }
  report().traffic.message_bytes += frame_bytes(segment);
  report().traffic.bytes_sent += frame_bytes(segment);
  stop.sender->start(stop.head.size(), stretches_of(stop, values_out_));
}

// The sum of a segment, block by block, with the checksums of what came and of what goes. At its
// owner it becomes the mean, in the caller's memory; elsewhere it stays where it came.
void PlainRingExchange::add_values(Stop& stop, std::span<std::byte> frame) {
  const Segment& segment = segment_of(stop);
  const bool is_last = stop.hop.kind == RingHop::Kind::last_sum;
  const Head came = open_head(stop, rank_behind(), frame, frame.first(stop.head.size()));
  {
    const StopWatch watch(report().phases.decode_seconds);
    const double weight = double{call().weight} + double{came.weight};
    const float factor = is_last ? mean_factor(weight) : 1;
    write_head(stop, came.poison, static_cast<float>(weight), stop.head);
    FrameChecksum in(frame), out(stop.head);
    in.add(frame.subspan(kFrameHeaderBytes, parcel_head_bytes(segment.piece_count)));
    out.add(stop.head.subspan(kFrameHeaderBytes));
    std::span<float> sums =
        as_floats(frame.subspan(stop.head.size(), segment.elements * sizeof(float)));
    std::uint32_t largest = 0;
    const auto& [first, count] = stretches_[stop.hop.segment];
    for (std::size_t i = first; i < first + count; ++i) {
      const std::span<const float> own = as_floats(values_out_[i]);
      const std::span<float> mean = as_floats(means_in_[i]);
      for (std::size_t at = 0; at < own.size(); at += kBlock) {
        const std::size_t elements = std::min(kBlock, own.size() - at);
        const std::span<float> block = sums.first(elements);
        const std::span<float> target = is_last ? mean.subspan(at, elements) : block;
        in.add(std::as_bytes(block));
        largest = std::max(largest, kernel::add_scaled(block, own.subspan(at, elements),
                                                       call().weight, factor, target));
        out.add(std::as_bytes(target));
        sums = sums.subspan(elements);
      }
    }
    const auto checked = in.check(frame);
    if (!checked) refuse_frame(rank_behind(), checked.error());
    const bool is_poison = is_last && !came.poison && !kernel::is_finite_magnitude(largest);
    if (is_poison) {  // the checksum covers the flag
      write_head(stop, true, static_cast<float>(weight), stop.head);
      out = FrameChecksum(stop.head);
      out.add(stop.head.subspan(kFrameHeaderBytes));
      for (const auto& part : stretches_of(stop, means_out_)) out.add(part);
    }
    out.write(stop.head);
    if (is_last) report().poisoned = report().poisoned || came.poison || is_poison;
  }
  report().traffic.message_bytes += frame_bytes(segment);
  report().traffic.bytes_sent += frame_bytes(segment);
  stop.sum = frame.subspan(stop.head.size(), segment.elements * sizeof(float));
  stop.sender->start(stop.head.size(),
                     is_last ? stretches_of(stop, means_out_) : std::span(&stop.sum, 1));
}

// Means that go on follow those of the own chunk, as the neighbour expects them.
bool PlainRingExchange::take_mean() {
  if (taken_ == means_.size()) return false;
  Stop& stop = means_[taken_];
  if (stop.hop.goes && added_ < sums_.size()) return false;
  if (!stop.receiver->done()) return false;
  ++taken_;
  const MessageRoom frame(stop.head, stretches_of(stop, means_in_));
  const Head came = open_head(stop, stop.hop.owner, frame, stop.head);
  {
    const StopWatch watch(report().phases.decode_seconds);
    check_sum(frame, stop.head, payload_bytes(segment_of(stop)));
  }
  report().poisoned = report().poisoned || came.poison;
  if (stop.hop.goes) {
    report().traffic.bytes_sent += frame_bytes(segment_of(stop));
    stop.sender->start(stop.head.size(), stretches_of(stop, means_out_));
  }
  return true;
}

void PlainRingExchange::walk_own(const Visitor& visit) const {
  for (const Piece& piece : layout().pieces) {
    visit(plain_piece(piece));
  }
}

}  // namespace gradwire
