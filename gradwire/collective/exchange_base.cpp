#include "gradwire/collective/exchange_base.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "gradwire/codec/pipes.h"
#include "gradwire/core/check.h"
#include "gradwire/kernel/block.h"
#include "gradwire/kernel/copy.h"
#include "gradwire/kernel/sums.h"

namespace gradwire {
namespace {

constexpr std::size_t kLargeElements = std::size_t{1} << 20;

std::size_t largest_piece(const Layout& layout) {
  std::size_t elements = 0;
  for (const Piece& piece : layout.pieces) {
    elements = std::max(elements, piece.of_tensor.elements);
  }
  return elements;
}

std::size_t most_pieces(const Layout& layout) {
  std::size_t pieces = 0;
  for (const Segment& segment : layout.segments) pieces = std::max(pieces, segment.piece_count);
  return pieces;
}

std::size_t elements_of(const Layout& layout) {
  std::size_t elements = 0;
  for (const Part& part : layout.parts) elements += part.elements;
  return elements;
}

}  // namespace

ExchangeBase::ExchangeBase(Communicator::Impl& communicator, ExchangeSetup setup)
    : Job(Communicator::Impl::exchange_tag(setup.number)),
      communicator_(communicator),
      setup_(std::move(setup)),
      rank_(communicator.transport().rank()),
      ranks_(communicator.transport().size()),
      up_kind_{
          .codecs = setup_.up,
          .fingerprint = fingerprint(setup_.up.spec()),
          .direction = traits_of(setup_.topology).passes_sums ? Direction::hop : Direction::up},
      staying_codec_(find_staying_codec()),
      threads_(communicator.threads()),
      scales_(setup_.tensors.size()),
      shares_(ranks_),
      is_large_(elements_of(setup_.layout) >= kLargeElements),
      encoded_(most_pieces(setup_.layout)),
      payloads_(encoded_.size() * ranks_),
      sent_(encoded_.size()) {
  threads_.reserve(largest_piece(setup_.layout));
}

// None for messages that are used again or walked by a port, which asks for their codec. None
// either where sent segments do not tell how long the others would be: sparse ones, those of
// several codecs, and where nothing is sent.
std::unique_ptr<const Codec> ExchangeBase::find_staying_codec() const {
  const TensorCodecs& ups = setup_.up;
  const bool has_sent_segments =
      setup_.layout.chunks.size() == ranks_ && contributes(rank_) &&
      setup_.layout.chunks[rank_].segment_count < layout().segments.size();
  if (!traits_of(setup_.topology).has_owners || setup_.is_ported || setup_.keeps_uploads ||
      !has_sent_segments || !ups.has_common() || ups.is_sparse()) {
    return nullptr;
  }
  return make_codec_without_entropy(ups.common().spec());
}

bool ExchangeBase::is_staying(std::size_t segment) const {
  if (!saves_entropy()) return false;
  const Chunk& chunk = layout().chunks[rank_];
  return segment >= chunk.first_segment && segment < chunk.first_segment + chunk.segment_count;
}

void ExchangeBase::await_started() noexcept {
  if (!is_started_) return;
  is_started_ = false;
  try {
    communicator_.wait(*this);
  } catch (const std::exception&) {
  }
}

void ExchangeBase::start(const ExchangeCall& call, const MethodCall& method) {
  if (is_started_) {
    throw Error("an exchange was started again before its last call was finished: call finish()");
  }
  check_call(call, method);
  call_ = call;
  method_ = method;
  communicator_.queue(*this);
  is_started_ = true;
}

ExchangeReport ExchangeBase::finish() {
  if (!is_started_) throw Error("an exchange has nothing to finish: call start() first");
  is_started_ = false;
  communicator_.wait(*this);
  report_.phases.exchange_seconds =
      seconds() - report_.phases.encode_seconds - report_.phases.decode_seconds;
  return report_;
}

void ExchangeBase::begin(PeerLinks& links) {
  report_ = {};
  links_ = &links;
  begin_call();
}

Turn ExchangeBase::advance(PeerLinks& links) {
  links.presence.set_step(call_.step);
  const Turn turn = advance_call();
  if (turn == Turn::finished) kernel::finish_streamed();
  return turn;
}

void ExchangeBase::check_call(const ExchangeCall& call, const MethodCall& method) const {
  const auto check_spans = [this](const auto& spans, const char* what) {
    if (spans.size() != setup_.tensors.size()) {
      throw Error("an exchange of " + std::to_string(setup_.tensors.size()) + " tensors got " +
                  what + " for " + std::to_string(spans.size()));
    }
    for (std::size_t i = 0; i < spans.size(); ++i) {
      if (spans[i].size() == setup_.tensors[i].elements) continue;
      throw Error("tensor '" + setup_.tensors[i].name + "' has " +
                  std::to_string(setup_.tensors[i].elements) + " elements, but its " + what +
                  " have " + std::to_string(spans[i].size()));
    }
  };
  GW_CHECK((method.worker != nullptr) == setup_.is_ported);
  GW_CHECK(!method.is_repeat || setup_.keeps_uploads);
  GW_CHECK(method.gate == nullptr || (setup_.is_ported && !setup_.keeps_uploads));
  GW_CHECK(method.replay.empty() || (setup_.is_ported && method.replay.size() == ranks_));
  if (contributes(rank_) && !setup_.is_ported) check_spans(call.values, "values");
  check_spans(call.means, "means");
  if (!std::isfinite(call.weight) || call.weight < 0) {
    throw Error("the weight of a rank's values must be a number from 0 on");
  }
}

std::size_t ExchangeBase::up_frame_bytes_max(const Segment& segment) const {
  std::size_t bytes = kFrameHeaderBytes + parcel_head_bytes(segment.piece_count);
  for (const Piece& piece : layout().pieces_of(segment)) bytes += up_bytes_max(piece);
  return bytes;
}

std::size_t ExchangeBase::up_bytes_max(const Piece& piece) const {
  const std::size_t tensor = piece.of_tensor.tensor;
  const std::size_t elements = piece.of_tensor.elements;
  const std::size_t of_all = setup_.tensors[tensor].elements;
  const std::size_t bytes = up(tensor).payload_bytes_max(elements, of_all);
  if (!saves_entropy()) return bytes;
  return std::max(bytes, staying_codec_->payload_bytes_max(elements, of_all));
}

void ExchangeBase::measure_values() {
  if (!contributes(rank_) || method_.is_repeat) return;
  const StopWatch watch(report_.phases.encode_seconds);
  if (setup_.is_ported && setup_.up.needs_whole_tensor()) prepare_all();
  measure_each(
      scales_.size(), [this](std::size_t tensor) { return setup_.tensors[tensor].elements; },
      [this](std::size_t tensor, ThreadPool& pool) {
        up(tensor).measure(setup_.is_ported ? call_.means[tensor] : call_.values[tensor],
                           rng(tensor, Purpose::uplink, rank_), scales_[tensor], pool);
      });
}

void ExchangeBase::prepare_all() {
  const std::span<const Piece> pieces = layout().pieces;
  threads_.run(pieces.size(), threads_.shares(pieces.size(), elements_of(layout())),
               [&](std::size_t i, PieceMemory&) {
                 const std::span<float> gradient = means(pieces[i].of_tensor);
                 method_.worker->prepare(pieces[i].of_tensor, gradient, gradient);
                 return std::optional<BadPayload>();
               });
}

std::span<const float> ExchangeBase::prepared(const TensorPiece& piece, PieceMemory& memory) {
  if (!setup_.is_ported || setup_.up.needs_whole_tensor()) return values(piece);
  const std::span<float> gradient = means(piece);
  const std::span<float> target =
      method_.worker->keeps_values() ? gradient : memory.scratch(piece.elements);
  method_.worker->prepare(piece, gradient, target);
  return target;
}

Written ExchangeBase::encode_up(const Segment& segment, std::span<std::byte> memory) {
  const Written written = encode_values(
      segment, memory, [this](std::size_t tensor) -> const Codec& { return up(tensor); });
  report_.traffic.message_bytes += kFrameHeaderBytes + written.parcel.size();
  return written;
}

Written ExchangeBase::encode_staying(const Segment& segment, std::span<std::byte> memory) {
  return encode_values(segment, memory,
                       [this](std::size_t) -> const Codec& { return *staying_codec_; });
}

template <class CodecOf>
Written ExchangeBase::encode_values(const Segment& segment, std::span<std::byte> memory,
                                    const CodecOf& codec_of) {
  return write_parcel(
      segment, call_.weight, memory, [this](const Piece& piece) { return up_bytes_max(piece); },
      [&](const Piece& piece, std::size_t, std::span<std::byte> room,
          PieceMemory& thread) -> Expected<Encoded, BadPayload> {
        const StopWatch watch(thread.encode_seconds);
        const TensorPiece& part = piece.of_tensor;
        return codec_of(part.tensor)
            .encode(scales_[part.tensor], {.values = prepared(part, thread), .first = part.first},
                    rng(part.tensor, Purpose::uplink, rank_), room, thread.workspace);
      });
}

namespace {

// As many bytes per element as others have.
class BytesOfOthers {
 public:
  void add(std::size_t elements, std::size_t bytes) {
    elements_ += elements;
    bytes_ += bytes;
  }
  std::uint64_t of(std::size_t elements) const {
    if (elements_ == 0) return 0;
    const double bytes = static_cast<double>(elements) * static_cast<double>(bytes_);
    return static_cast<std::uint64_t>(std::llround(bytes / static_cast<double>(elements_)));
  }

 private:
  std::size_t elements_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace

void ExchangeBase::report_staying(std::span<const Written> segments) {
  BytesOfOthers sent;
  for (std::size_t i = 0; i < segments.size(); ++i) {
    if (!is_staying(i)) sent.add(layout().segments[i].elements, segments[i].parcel.size());
  }
  for (std::size_t i = 0; i < segments.size(); ++i) {
    if (!is_staying(i)) continue;
    report_.traffic.message_bytes += kFrameHeaderBytes + sent.of(layout().segments[i].elements);
  }
}

Written ExchangeBase::join_payloads(std::span<std::byte> room, std::size_t pieces, float weight) {
  ParcelWriter parcel(room, pieces, weight);
  bool finite = true;
  for (const EncodedPiece& piece : std::span(encoded_).first(pieces)) {
    std::byte* const place = parcel.room().data();
    if (place != room.data() + piece.at) std::memmove(place, room.data() + piece.at, piece.bytes);
    parcel.add(piece.bytes);
    finite = finite && piece.finite;
  }
  return {.parcel = parcel.bytes(), .finite = finite};
}

FrameHeader ExchangeBase::header_of(const FrameKind& kind, const Segment& segment) const {
  return {.run = communicator_.run(),
          .step = call_.step,
          .exchange = setup_.number,
          .sender = static_cast<std::uint32_t>(rank_),
          .direction = kind.direction,
          .codec_fingerprint = kind.fingerprint,
          .first_element = segment.first_element,
          .element_count = segment.elements};
}

std::span<const std::byte> ExchangeBase::seal(const FrameKind& kind, const Segment& segment,
                                              bool poison, std::span<const std::byte> parcel,
                                              std::span<std::byte> memory) {
  GW_CHECK(parcel.data() == memory.data() + kFrameHeaderBytes);
  FrameHeader header = header_of(kind, segment);
  header.poison = poison;
  write_frame_header(header, parcel, memory);
  return memory.first(kFrameHeaderBytes + parcel.size());
}

std::span<const std::byte> ExchangeBase::seal_repeat(const FrameKind& kind, const Segment& segment,
                                                     std::span<std::byte> memory) {
  FrameHeader header = header_of(kind, segment);
  header.repeat = true;
  write_frame_header(header, {}, memory);
  report_.traffic.message_bytes += kFrameHeaderBytes;
  return memory.first(kFrameHeaderBytes);
}

Decoded<void> ExchangeBase::check_header(const FrameHeader& header, const FrameKind& kind,
                                         const Segment& segment, std::size_t sender) const {
  return verify(header, {.run = communicator_.run(),
                         .step = call_.step,
                         .exchange = setup_.number,
                         .sender = static_cast<std::uint32_t>(sender),
                         .direction = kind.direction,
                         .codec_fingerprint = kind.fingerprint,
                         .first_element = segment.first_element,
                         .element_count = segment.elements});
}

void ExchangeBase::refuse_frame(std::size_t peer, const DecodeError& error) {
  refuse(links_->presence, peer, "a frame", error);
}

Decoded<Frame> ExchangeBase::checked_frame(Inbox& inbox, const FrameKind& kind,
                                           const Segment& segment, std::size_t sender) {
  const auto frame = expected_frame(inbox.front(), kind, segment, sender);
  if (!frame) return frame;
  links_->presence.heard(inbox.peer());
  report_.traffic.bytes_received += frame->bytes();
  return frame;
}

Decoded<Frame> ExchangeBase::expected_frame(std::span<const std::byte> bytes, const FrameKind& kind,
                                            const Segment& segment, std::size_t sender) const {
  const auto frame = parse_frame(bytes);
  if (!frame) return frame;
  const auto verified = check_header(frame->header, kind, segment, sender);
  if (!verified) return Unexpected{verified.error()};
  return frame;
}

ExchangeBase::Incoming ExchangeBase::open_result(std::span<const std::byte> bytes,
                                                 const FrameKind& kind, const Segment& segment,
                                                 std::size_t sender) {
  const auto frame = expected_frame(bytes, kind, segment, sender);
  if (!frame) refuse_frame(sender, frame.error());
  const auto parcel = ParcelReader::open(frame->payload, segment.piece_count);
  if (!parcel) refuse_frame(sender, parcel.error());
  report_.traffic.bytes_received += frame->bytes();
  return {.parcel = *parcel, .poison = frame->header.poison, .frame = bytes.first(frame->bytes())};
}

ExchangeBase::Incoming ExchangeBase::open_front(Inbox& inbox, const FrameKind& kind,
                                                const Segment& segment, std::size_t sender) {
  const auto frame = checked_frame(inbox, kind, segment, sender);
  if (!frame) refuse_frame(inbox.peer(), frame.error());
  const auto parcel = ParcelReader::open(frame->payload, segment.piece_count);
  if (!parcel) refuse_frame(inbox.peer(), parcel.error());
  return {.parcel = *parcel,
          .poison = frame->header.poison,
          .frame = inbox.front().first(frame->bytes())};
}

ExchangeBase::Incoming ExchangeBase::open_upload(Inbox& inbox, const Segment& segment,
                                                 std::size_t kept_index) {
  if (!setup_.keeps_uploads) return open_front(inbox, up_kind_, segment, inbox.peer());
  const auto frame = checked_frame(inbox, up_kind_, segment, inbox.peer());
  if (!frame) refuse_frame(inbox.peer(), frame.error());
  const auto bytes = frame->header.repeat ? uploads_.at(inbox.peer(), kept_index) : frame->payload;
  if (frame->header.repeat && bytes.empty()) {
    refuse_frame(inbox.peer(), {"it repeats what it never sent", kFrameFlagsAt});
  }
  const auto parcel = ParcelReader::open(bytes, segment.piece_count);
  if (!parcel) refuse_frame(inbox.peer(), parcel.error());
  if (!frame->header.repeat) uploads_.note(inbox.peer(), kept_index, bytes);
  return {.parcel = *parcel, .poison = frame->header.poison, .frame = {}};
}

ExchangeBase::Incoming ExchangeBase::open_own_upload(const Written& written, const Segment& segment,
                                                     std::size_t kept_index) {
  const auto bytes = method_.is_repeat ? uploads_.at(rank_, kept_index) : written.parcel;
  GW_CHECK(!bytes.empty());  // what was never sent cannot be repeated
  if (setup_.keeps_uploads && !method_.is_repeat) uploads_.note(rank_, kept_index, bytes);
  const auto parcel = ParcelReader::open(bytes, segment.piece_count);
  GW_CHECK(parcel.has_value());
  return {.parcel = *parcel, .poison = !method_.is_repeat && !written.finite, .frame = {}};
}

void ExchangeBase::load_uploads(std::span<const std::byte> bytes) {
  std::vector<std::size_t> piece_counts;
  for (const Segment& segment : kept_segments_) piece_counts.push_back(segment.piece_count);
  const auto loaded = uploads_.load(bytes, piece_counts);
  if (!loaded)
    throw Error(std::string("the last messages cannot be loaded: ") + loaded.error().what);
}

ParcelReader ExchangeBase::open_own(const Written& written, const Segment& segment) {
  const auto parcel = ParcelReader::open(written.parcel, segment.piece_count);
  GW_CHECK(parcel.has_value());
  return *parcel;
}

// A late message is remembered as one of zeros: all values stay unsent. Values with a NaN would
// stay for ever; they are given up, as those of a poisoned exchange are.
SentPiece ExchangeBase::sent_piece(const Piece& piece, std::size_t i, PieceMemory& memory,
                                   std::span<float> scratch) const {
  switch (sent_[i].state) {
    case SentPayload::State::none:
      return {};
    case SentPayload::State::counted:
      return {up(piece.of_tensor.tensor), sent_[i].payload, memory.workspace, scratch};
    case SentPayload::State::late:
      break;
  }
  const bool is_finite =
      !method_.worker->keeps_values() ||
      kernel::is_finite_magnitude(kernel::largest_magnitude(means(piece.of_tensor)));
  return is_finite ? SentPiece::late(scratch) : SentPiece();
}

void ExchangeBase::check(const Decoded<void>& decoded, std::size_t sender) {
  if (!decoded) refuse(links_->presence, sender, "a payload", decoded.error());
}

void ExchangeBase::zero_means(const Segment& segment) {
  static constexpr std::array<float, kernel::kBlockElements> kZeros{};
  const StopWatch watch(report_.phases.decode_seconds);
  for (const Piece& piece : layout().pieces_of(segment)) {
    const std::span<float> all = means(piece.of_tensor);
    for (std::size_t i = 0; i < all.size(); i += kZeros.size()) {
      const std::span<float> block = all.subspan(i, std::min(kZeros.size(), all.size() - i));
      kernel::copy_streamed(std::as_bytes(std::span(kZeros).first(block.size())),
                            std::as_writable_bytes(block).data());
    }
  }
  kernel::finish_streamed();
}

float ExchangeBase::weigh(const Segment& segment, std::span<ParcelReader> parcels) {
  for (std::size_t peer = 0; peer < ranks_; ++peer) {
    for (std::size_t i = 0; i < segment.piece_count && is_counted(peer); ++i) {
      payloads_[i * ranks_ + peer] = parcels[peer].next();
    }
  }
  double total = 0;
  for (std::size_t peer = 0; peer < ranks_; ++peer) {
    if (is_counted(peer)) total += double{parcels[peer].weight()};
  }
  for (std::size_t peer = 0; peer < ranks_; ++peer) {
    if (!is_counted(peer)) continue;
    shares_[peer] = total > 0 ? static_cast<float>(double{parcels[peer].weight()} / total) : 0;
  }
  return static_cast<float>(total);
}

std::optional<BadPayload> ExchangeBase::average(const Piece& piece, std::size_t i,
                                                PieceMemory& memory, std::span<float> mean,
                                                float scale) {
  std::fill(mean.begin(), mean.end(), 0.0F);
  return add_to_zeros(piece, i, memory, mean, scale);
}

std::optional<BadPayload> ExchangeBase::add_to_zeros(const Piece& piece, std::size_t i,
                                                     PieceMemory& memory, std::span<float> mean,
                                                     float scale) {
  for (std::size_t peer = 0; peer < ranks_; ++peer) {
    if (!is_counted(peer)) continue;
    const bool has_stayed = peer == rank_ && saves_entropy();
    const Codec& codec = has_stayed ? *staying_codec_ : up(piece.of_tensor.tensor);
    const float weight = scale * shares_[peer];
    const auto added = codec.decode_add(payload(i, peer), weight, mean, memory.workspace);
    if (!added) return bad_if(added, peer);
  }
  return std::nullopt;
}

void ExchangeBase::decode_into_means(const FrameKind& kind, const Segment& segment,
                                     ParcelReader parcel, std::size_t sender, bool are_zero) {
  const std::span<const Piece> pieces = layout().pieces_of(segment);
  for (std::size_t i = 0; i < pieces.size(); ++i) payloads_[i * ranks_] = parcel.next();
  for_pieces(pieces, is_shared(segment),
             [&](const Piece& piece, std::size_t i, PieceMemory& memory) {
               const StopWatch watch(memory.decode_seconds);
               const Codec& codec = kind.codecs.of(piece.of_tensor.tensor);
               return bad_if(are_zero ? codec.decode_to_zeros(payload(i, 0), means(piece.of_tensor),
                                                              memory.workspace)
                                      : decode_mean(codec, payload(i, 0), piece.of_tensor, memory),
                             sender);
             });
}

Decoded<void> ExchangeBase::decode_mean(const Codec& codec, std::span<const std::byte> payload,
                                        const TensorPiece& piece, PieceMemory& memory) {
  const std::span<float> mean = means(piece);
  if (!is_large_) return codec.decode(payload, mean, memory.workspace);
  const std::span<float> decoded = memory.scratch(mean.size());
  const auto result = codec.decode(payload, decoded, memory.workspace);
  if (!result) return result;
  kernel::copy_streamed(std::as_bytes(std::span<const float>(decoded)),
                        std::as_writable_bytes(mean).data());
  return {};
}

void ExchangeBase::walk(std::span<const Written> segments, const Visitor& visit) const {
  const auto walk_pieces = [&](const auto& visit_piece) {
    for (std::size_t i = 0; i < segments.size(); ++i) {
      if (segments[i].parcel.empty()) continue;  // nothing was sent for it
      const Segment& segment = layout().segments[i];
      ParcelReader parcel = open_own(segments[i], segment);
      for (const Piece& piece : layout().pieces_of(segment)) {
        visit_piece(piece.of_tensor, parcel.next(), is_staying(i));
      }
    }
  };
  BytesOfOthers sent;
  if (saves_entropy()) {
    walk_pieces([&](const TensorPiece& piece, auto payload, bool has_stayed) {
      if (!has_stayed) sent.add(piece.elements, payload.size());
    });
  }
  walk_pieces([&](const TensorPiece& piece, auto payload, bool has_stayed) {
    visit({.of_tensor = piece,
           .codec = has_stayed ? *staying_codec_ : up(piece.tensor),
           .payload = payload,
           .message_bytes = has_stayed ? sent.of(piece.elements) : payload.size()});
  });
}

}  // namespace gradwire
