#include "gradwire/collective/grace_exchange.h"

#include <algorithm>
#include <exception>

#include "gradwire/collective/owner_exchange.h"

namespace gradwire {

GraceExchange::GraceExchange(Communicator::Impl& communicator, ExchangeSetup given,
                             Transport& transport)
    : ExchangeBase(communicator, std::move(given)),
      communicator_(communicator),
      owner_(static_cast<GraceOwner&>(
          communicator.serve(std::make_unique<GraceOwner>(communicator, setup(), transport)))),
      order_(contributes(rank()) ? encoding_order(layout(), rank()) : std::vector<std::size_t>()),
      up_frames_(frame_sizes(layout().segments,
                             [this](const Segment& s) { return up_frame_bytes_max(s); })),
      written_(layout().segments.size()),
      up_senders_(layout().segments.size()) {
  for (std::size_t peer = 0; peer < ranks() && contributes(rank()); ++peer) {
    if (peer == rank()) continue;
    const Chunk& theirs = layout().chunks[peer];
    for (std::size_t i = 0; i < theirs.segment_count; ++i) {
      const std::size_t segment = theirs.first_segment + i;
      up_senders_[segment] = transport.sender(peer, tag(Lane::up), up_frames_.room(segment));
    }
  }
}

GraceExchange::~GraceExchange() {
  await_started();
  try {
    communicator_.call([this](PeerLinks&) { owner_.retire(); });
  } catch (const std::exception&) {  // it is over, and nothing is served any more
  }
}

// The owner may be keeping a late message meanwhile, on the progress thread.
std::size_t GraceExchange::upload_bytes() const {
  std::size_t bytes = 0;
  communicator_.call([&](PeerLinks&) { bytes = owner_.upload_bytes(); });
  return bytes;
}

std::vector<std::byte> GraceExchange::save_uploads() const {
  std::vector<std::byte> bytes;
  communicator_.call([&](PeerLinks&) { bytes = owner_.save_uploads(); });
  return bytes;
}

void GraceExchange::load_uploads(std::span<const std::byte> bytes) {
  std::exception_ptr refusal;  // of this rank alone: the others continue
  communicator_.call([&](PeerLinks&) {
    try {
      owner_.load_uploads(bytes);
    } catch (const Error&) {
      refusal = std::current_exception();
    }
  });
  if (refusal) std::rethrow_exception(refusal);
}

void GraceExchange::begin_call() {
  ++calls_;
  encoded_ = committed_ = 0;
  is_measured_ = is_settled_ = false;
  std::ranges::fill(written_, Written());
  if (method().owner != nullptr) method().owner->begin_call();
  owner_.begin_call(call().step, method().owner);
}

Turn GraceExchange::advance_call() {
  if (!is_measured_) {
    measure();
    is_measured_ = true;
  }
  if (encode_next()) return Turn::worked;
  if (!owner_.has_all_results()) return Turn::waiting;
  if (!is_settled_) {
    take_report();
    is_settled_ = true;
  }
  if (committed_ < layout().segments.size()) {
    commit_next();
    return Turn::worked;
  }
  if (!has_sent_all()) return Turn::waiting;
  const ExchangeReport owners = owner_.end_call();
  report().traffic += owners.traffic;
  report().phases += owners.phases;
  return Turn::finished;
}

// Values that are late are prepared all the same: they are remembered.
void GraceExchange::measure() {
  if (!owner_.has_all_results() || setup().keeps_uploads) {
    measure_values();
  } else if (contributes(rank()) && ups().needs_whole_tensor()) {
    prepare_all();
  }
}

bool GraceExchange::encode_next() {
  if (encoded_ == order_.size()) return false;
  const std::size_t index = order_[encoded_++];
  const Segment& segment = layout().segments[index];
  const std::span<std::byte> memory = up_frames_.room(index);
  if (method().is_repeat) {
    if (up_senders_[index]) send(*up_senders_[index], seal_repeat(up_kind(), segment, memory));
  } else if (owner_.has_result(index) && !setup().keeps_uploads) {
    send_nothing(index);
  } else {
    const Written& written = written_[index] = encode_up(segment, memory);
    if (up_senders_[index]) {
      send(*up_senders_[index], seal(up_kind(), segment, !written.finite, written.parcel, memory));
    }
  }
  if (encoded_ < order_.size() || own_chunk().segment_count == 0) return true;
  if (method().is_repeat) {
    owner_.give_repeat();
  } else {
    owner_.give(std::span(written_).subspan(own_chunk().first_segment, own_chunk().segment_count));
  }
  return true;
}

void GraceExchange::send_nothing(std::size_t index) {
  const Segment& segment = layout().segments[index];
  if (!ups().needs_whole_tensor()) {
    for_pieces(layout().pieces_of(segment), is_shared(segment),
               [&](const Piece& piece, std::size_t, PieceMemory& memory) {
                 prepared(piece.of_tensor, memory);
                 return std::optional<BadPayload>();
               });
  }
  if (!up_senders_[index]) return;
  send(*up_senders_[index], seal_repeat(up_kind(), segment, up_frames_.room(index)));
}

void GraceExchange::take_report() {
  for (std::size_t i = 0; i < layout().segments.size(); ++i) {
    report().poisoned = report().poisoned || owner_.result(i).poison;
  }
  for (std::size_t peer = 0; peer < ranks(); ++peer) {
    if (!contributes(peer)) continue;
    for (std::size_t i = 0; i < layout().segments.size(); ++i) {
      if (owner_.result(i).counted.has(peer)) continue;
      report().late.push_back(peer);
      break;
    }
  }
  const Chunk& own = own_chunk();
  if (!setup().keeps_uploads || own.segment_count == 0 || report().poisoned) return;
  const bool has_message = contributes(rank()) && !method().is_repeat;
  const bool is_late = has_message && !owner_.result(own.first_segment).counted.has(rank());
  if (is_late) owner_.keep_late(std::span(written_).subspan(own.first_segment, own.segment_count));
}

// Where uploads are kept, owners have a late one from now on, unless it has a NaN.
ExchangeBase::SentPayload::State GraceExchange::state_of(std::size_t segment) const {
  using State = SentPayload::State;
  if (!contributes(rank()) || method().is_repeat) return State::none;
  if (setup().keeps_uploads) return written_[segment].finite ? State::counted : State::none;
  return owner_.result(segment).counted.has(rank()) ? State::counted : State::late;
}

void GraceExchange::commit_next() {
  const std::size_t index = committed_++;
  const Segment& segment = layout().segments[index];
  const SentPayload::State state = state_of(index);
  const bool is_counted = state == SentPayload::State::counted;
  ParcelReader own = is_counted ? open_own(written_[index], segment) : ParcelReader();
  ParcelReader came = owner_.result(index).parcel;
  payloads_came_.clear();
  for (std::size_t p = 0; p < segment.piece_count; ++p) payloads_came_.push_back(came.next());
  commit_segment(
      segment,
      [&](const Piece&) {
        return is_counted ? SentPayload::counted(own.next()) : SentPayload{.state = state};
      },
      [&](const Piece& piece, std::size_t p, PieceMemory& memory, std::span<float> mean,
          float scale) {
        const auto decoded =
            downs().of(piece.of_tensor.tensor).decode(payloads_came_[p], mean, memory.workspace);
        if (decoded) scale_by(scale, mean);
        return bad_if(decoded, owner_of(layout(), index));
      });
}

bool GraceExchange::has_sent_all() {
  return std::ranges::all_of(up_senders_,
                             [](const auto& sender) { return !sender || sender->done(); });
}

}  // namespace gradwire
