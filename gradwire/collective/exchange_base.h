// What every topology's exchange has: the call, the report, and the way between segments and
// frames.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gradwire/codec/codec.h"
#include "gradwire/collective/counted_ranks.h"
#include "gradwire/collective/frame_inbox.h"
#include "gradwire/collective/grace.h"
#include "gradwire/collective/layout.h"
#include "gradwire/collective/method_exchange.h"
#include "gradwire/collective/parcel.h"
#include "gradwire/collective/piece_threads.h"
#include "gradwire/collective/progress.h"
#include "gradwire/collective/tensor_codecs.h"
#include "gradwire/collective/uploads.h"
#include "gradwire/core/check.h"
#include "gradwire/core/stop_watch.h"
#include "gradwire/wire/frame.h"

namespace gradwire {

// Options that have been checked and completed: the same on all ranks.
struct ExchangeSetup {
  std::vector<TensorSize> tensors;
  std::vector<std::uint64_t> tensor_ids;
  TensorCodecs up;
  TensorCodecs down;
  Topology topology = Topology::scatter;
  std::size_t server = 0;
  std::optional<std::size_t> dedicated_server = {};  // gives no values itself
  std::uint64_t seed = 0;
  bool is_ported = false;
  bool keeps_uploads = false;
  Grace grace = {};          // for late ranks
  std::uint32_t number = 0;  // of the exchange in its run
  Layout layout;
};

// Makes the exchange of a setup, on the progress thread.
using ExchangeMaker = std::unique_ptr<MethodExchange> (*)(Communicator::Impl& communicator,
                                                          ExchangeSetup setup,
                                                          Transport& transport);
ExchangeMaker exchange_maker(Topology topology);
// The same for a setup with grace, of a topology with owners.
ExchangeMaker grace_exchange_maker();

inline void scale_by(float factor, std::span<float> values) {
  if (factor == 1) return;
  for (float& value : values) value *= factor;
}

// A segment as it was encoded: a parcel, behind room for the frame's header.
struct Written {
  std::span<const std::byte> parcel;
  bool finite = true;  // no NaN or infinity was met
};

// What all frames of one way have in common.
struct FrameKind {
  const TensorCodecs& codecs;
  std::uint64_t fingerprint;
  Direction direction;
};

class ExchangeBase : public MethodExchange, public Job {
 public:
  // Exchanges that can be started must have ended before any part of them goes: the last class's
  // destructor calls await_started().
  ~ExchangeBase() override { GW_CHECK(!is_started_); }

  Topology topology() const final { return setup_.topology; }
  const Codec& up(std::size_t tensor) const final { return setup_.up.of(tensor); }

  void start(const ExchangeCall& call) final { start(call, {}); }
  void start(const ExchangeCall& call, const MethodCall& method) final;
  ExchangeReport finish() final;

  std::vector<TensorPiece> owned() const override { return {}; }
  std::size_t upload_bytes() const override { return uploads_.bytes(); }
  std::vector<std::byte> save_uploads() const override { return uploads_.save(); }
  void load_uploads(std::span<const std::byte> bytes) override;

 protected:
  ExchangeBase(Communicator::Impl& communicator, ExchangeSetup setup);

  void await_started() noexcept;

  // The exchange of call(), on the progress thread: starts the receivers first, and then works on a
  // segment in each turn. It never waits, since other exchanges may have work to do meanwhile.
  // Fills the report, apart from the waiting.
  virtual void begin_call() = 0;
  virtual Turn advance_call() = 0;

  const ExchangeSetup& setup() const { return setup_; }
  const Layout& layout() const { return setup_.layout; }
  const TensorCodecs& ups() const { return setup_.up; }
  const TensorCodecs& downs() const { return setup_.down; }
  const ExchangeCall& call() const { return call_; }
  const MethodCall& method() const { return method_; }
  ExchangeReport& report() { return report_; }
  PeerLinks& links() { return *links_; }
  std::size_t rank() const { return rank_; }
  std::size_t ranks() const { return ranks_; }
  bool contributes(std::size_t rank) const { return setup_.dedicated_server != rank; }
  bool is_replay() const { return !method_.replay.empty(); }
  bool sends_nothing() const { return method_.is_repeat || is_replay() || !contributes(rank_); }

  // With a worker's port, the values are where the gradients are.
  std::span<const float> values(const TensorPiece& piece) const {
    if (setup_.is_ported) return means(piece);
    return call_.values[piece.tensor].subspan(piece.first, piece.elements);
  }
  std::span<float> means(const TensorPiece& piece) const {
    return call_.means[piece.tensor].subspan(piece.first, piece.elements);
  }

  // The lane of this exchange.
  Tag tag(Lane lane) const {
    return {.lane = lane, .exchange = Communicator::Impl::exchange_tag(setup_.number)};
  }

  // --- For a part of an exchange that works between calls ---

  void attach(PeerLinks& links) { links_ = &links; }
  // Frames and random numbers are those of this step from now on.
  void set_step(std::uint64_t step) { call_.step = step; }
  // Means have the messages of these ranks only; null: of all that contribute.
  void count_only(const CountedRanks* counted) { counted_ = counted; }

  // --- The uplink's message ---

  // What became of this rank's message for a piece.
  struct SentPayload {
    enum class State { none, counted, late };
    State state = State::none;
    std::span<const std::byte> payload = {};  // if it was counted

    // Or will be, where uploads are kept.
    static SentPayload counted(std::span<const std::byte> payload) {
      return {.state = State::counted, .payload = payload};
    }
  };

  const FrameKind& up_kind() const { return up_kind_; }
  std::size_t up_frame_bytes_max(const Segment& segment) const;
  std::size_t up_bytes_max(const Piece& piece) const;
  void measure_values();
  void prepare_all();  // in place
  // The values that a piece sends. Prepared now, while it is in the cache, unless all had to be
  // before.
  std::span<const float> prepared(const TensorPiece& piece, PieceMemory& memory);
  Written encode_up(const Segment& segment, std::span<std::byte> memory);
  // The same for a segment that stays on this rank, if saves_entropy(). Nothing is reported: see
  // report_staying().
  Written encode_staying(const Segment& segment, std::span<std::byte> memory);
  // What an owner sends to itself need not be short, and does without the entropy stage.
  bool saves_entropy() const { return staying_codec_ != nullptr; }

  // --- Pieces ---

  // Calls body(piece, i, memory) for each piece of a segment, i counting from 0, on the threads of
  // the communicator, and adds the time to the report. A body returns the payload that it could not
  // decode, if any; that ends everything.
  template <class Body>
  void for_pieces(std::span<const Piece> pieces, bool is_shared, const Body& body) {
    double seconds = 0;
    std::optional<BadPayload> bad;
    {
      const StopWatch watch(seconds);
      bad = threads_.run(pieces.size(), is_shared, [&](std::size_t i, PieceMemory& memory) {
        return body(pieces[i], i, memory);
      });
    }
    const PieceThreads::Shares shares = threads_.take_shares();
    report_.phases.encode_seconds += shares.encode * seconds;
    report_.phases.decode_seconds += shares.decode * seconds;
    if (bad) refuse(links_->presence, bad->sender, "a payload", bad->error);
  }
  bool is_shared(const Segment& segment) const {
    return threads_.shares(segment.piece_count, segment.elements);
  }
  static std::optional<BadPayload> bad_if(const Decoded<void>& decoded, std::size_t sender) {
    if (decoded) return std::nullopt;
    return BadPayload{.sender = sender, .error = decoded.error()};
  }

  // Writes a parcel. `encode(piece, i, room, memory)` encodes one piece into a room of
  // `bytes_max(piece)` bytes, and returns what Codec::encode returns, or a BadPayload.
  template <class BytesMax, class Encode>
  Written write_parcel(const Segment& segment, float weight, std::span<std::byte> memory,
                       const BytesMax& bytes_max, const Encode& encode) {
    const std::span<std::byte> room = memory.subspan(kFrameHeaderBytes);
    const std::span<const Piece> pieces = layout().pieces_of(segment);
    const bool is_parallel = is_shared(segment);
    std::size_t at = parcel_head_bytes(pieces.size());
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      encoded_[i].at = at;
      at += bytes_max(pieces[i]);
    }
    for_pieces(pieces, is_parallel, [&](const Piece& piece, std::size_t i, PieceMemory& thread) {
      const Expected<Encoded, BadPayload> encoded =
          encode(piece, i, room.subspan(encoded_[i].at, bytes_max(piece)), thread);
      if (!encoded) return std::optional<BadPayload>(encoded.error());
      encoded_[i].bytes = encoded->bytes;
      encoded_[i].finite = encoded->finite;
      // One after another, the payloads can be put where they belong at once.
      const bool is_last = i + 1 == pieces.size();
      if (!is_parallel && !is_last) encoded_[i + 1].at = encoded_[i].at + encoded->bytes;
      return std::optional<BadPayload>();
    });
    return join_payloads(room, pieces.size(), weight);
  }

  // --- Frames ---

  // Writes the header in front of the parcel. Returns the frame.
  std::span<const std::byte> seal(const FrameKind& kind, const Segment& segment, bool poison,
                                  std::span<const std::byte> parcel, std::span<std::byte> memory);

  // The header of a frame of this rank, without poison.
  FrameHeader header_of(const FrameKind& kind, const Segment& segment) const;
  // The frame at the front of `bytes`, if it is the expected one.
  Decoded<Frame> expected_frame(std::span<const std::byte> bytes, const FrameKind& kind,
                                const Segment& segment, std::size_t sender) const;
  // Whether a header is that of the expected frame.
  Decoded<void> check_header(const FrameHeader& header, const FrameKind& kind,
                             const Segment& segment, std::size_t sender) const;

  // The frame that says that this rank's last message for a segment holds again.
  std::span<const std::byte> seal_repeat(const FrameKind& kind, const Segment& segment,
                                         std::span<std::byte> memory);

  struct Incoming {
    ParcelReader parcel;
    bool poison = false;
    std::span<const std::byte> frame;
  };
  // The next frame of an inbox, checked. A frame that is not what it should be ends everything.
  // Frames that were passed on have another sender than the peer.
  Incoming open_front(Inbox& inbox, const FrameKind& kind, const Segment& segment,
                      std::size_t sender);
  // The frame at the front of a rank's result frames, for MethodCall::replay.
  Incoming open_result(std::span<const std::byte> bytes, const FrameKind& kind,
                       const Segment& segment, std::size_t sender);

  // The same for what a rank sends up, segment `kept_index` of those of which uploads are kept: a
  // frame may say that the last one holds.
  Incoming open_upload(Inbox& inbox, const Segment& segment, std::size_t kept_index);
  // What this rank itself gives: what it wrote, or its last message.
  Incoming open_own_upload(const Written& written, const Segment& segment, std::size_t kept_index);
  Uploads& uploads() { return uploads_; }
  void keep_uploads(std::span<const Segment> segments) {
    if (!setup_.keeps_uploads) return;
    kept_segments_ = segments;
    uploads_ = Uploads(ranks_, segments.size());
  }
  // A parcel that this rank wrote itself.
  static ParcelReader open_own(const Written& written, const Segment& segment);

  // A frame that is not what it should be ends everything.
  [[noreturn]] void refuse_frame(std::size_t peer, const DecodeError& error);
  // A payload that cannot be decoded does, too.
  void check(const Decoded<void>& decoded, std::size_t sender);

  // The final mean of a piece. What is too large for the caches goes past them.
  Decoded<void> decode_mean(const Codec& codec, std::span<const std::byte> payload,
                            const TensorPiece& piece, PieceMemory& memory);

  // Sparse messages change few elements of a mean: the zeros around them can be written before the
  // messages come, while there is nothing else to do. Not with a port, which works piece by piece.
  bool zeroes_ahead(const TensorCodecs& codecs) const {
    return codecs.is_sparse() && is_large_ && !setup_.is_ported;
  }
  void zero_means(const Segment& segment);

  // The mean of everybody's parcels for a segment, times a scale: first the weights, of which the
  // sum is returned, then piece by piece, added in the order of the ranks. Parcels are by rank;
  // those of ranks that do not contribute, or are not counted, are not looked at.
  float weigh(const Segment& segment, std::span<ParcelReader> parcels);
  std::optional<BadPayload> average(const Piece& piece, std::size_t i, PieceMemory& memory,
                                    std::span<float> mean, float scale = 1);
  // The same if the mean is zero everywhere.
  std::optional<BadPayload> add_to_zeros(const Piece& piece, std::size_t i, PieceMemory& memory,
                                         std::span<float> mean, float scale = 1);

  // Hands all pieces of a segment to the worker's port: what this rank sent, if it did, and what
  // all got. `payload_of(piece)` is the first, in the order of the pieces, and empty if nothing was
  // sent; `fill_mean(piece, i, memory, mean, scale)` writes the second, times the scale. After
  // poison, the output is NaN and the port is told nothing. Values that were kept are in the cache
  // and of no more use when the mean is made, so that it is laid out in their place.
  template <class PayloadOf, class FillMean>
  void commit_segment(const Segment& segment, const PayloadOf& payload_of,
                      const FillMean& fill_mean) {
    const std::span<const Piece> pieces = layout().pieces_of(segment);
    for (std::size_t i = 0; i < pieces.size(); ++i) sent_[i] = payload_of(pieces[i]);
    for_pieces(pieces, is_shared(segment) && !method_.worker->takes_pieces_in_order(),
               [&](const Piece& piece, std::size_t i, PieceMemory& memory) {
                 return commit(piece, i, memory, fill_mean);
               });
  }
  template <class FillMean>
  std::optional<BadPayload> commit(const Piece& piece, std::size_t i, PieceMemory& memory,
                                   const FillMean& fill_mean) {
    const StopWatch watch(memory.decode_seconds);
    WorkerPort& port = *method_.worker;
    const std::span<float> result = means(piece.of_tensor);
    if (report_.poisoned) {
      std::fill(result.begin(), result.end(), std::numeric_limits<float>::quiet_NaN());
      return std::nullopt;
    }
    const std::span<float> scratch = memory.scratch(result.size());
    port.remember(piece.of_tensor, sent_piece(piece, i, memory, scratch), result);
    const std::span<float> mean = port.keeps_values() ? result : scratch;
    if (auto bad = fill_mean(piece, i, memory, mean, port.mean_scale(piece.of_tensor.tensor))) {
      return bad;
    }
    port.commit(piece.of_tensor, mean, result);
    return std::nullopt;
  }
  SentPiece sent_piece(const Piece& piece, std::size_t i, PieceMemory& memory,
                       std::span<float> scratch) const;
  // Call it when all frames have been seen: what came counts from now on, or never.
  void settle_uploads() { report_.poisoned ? uploads_.forget() : uploads_.commit(); }

  void decode_into_means(const FrameKind& kind, const Segment& segment, ParcelReader parcel,
                         std::size_t sender, bool are_zero = false);

  void send(Sender& sender, std::span<const std::byte> frame) {
    sender.start(frame.size());
    report_.traffic.bytes_sent += frame.size();
  }

  // What FrameStore needs to know.
  template <class BytesOf>
  static std::vector<std::size_t> frame_sizes(std::span<const Segment> segments,
                                              const BytesOf& bytes_of) {
    std::vector<std::size_t> bytes;
    for (const Segment& segment : segments) bytes.push_back(bytes_of(segment));
    return bytes;
  }

  Rng rng(std::size_t tensor, Purpose purpose, std::size_t rank) const {
    return {.seed = setup_.seed,
            .step = call_.step,
            .tensor = setup_.tensor_ids[tensor],
            .rank = static_cast<std::uint32_t>(rank),
            .purpose = purpose};
  }

  // Visits the payloads of all segments as this rank wrote them.
  void walk(std::span<const Written> segments, const Visitor& visit) const;
  // A piece of which the values are the payload.
  OwnPiece plain_piece(const Piece& piece) const {
    const std::span<const std::byte> bytes = std::as_bytes(values(piece.of_tensor));
    return {.of_tensor = piece.of_tensor,
            .codec = up(piece.of_tensor.tensor),
            .payload = bytes,
            .message_bytes = bytes.size()};
  }
  // Adds the segments without entropy stage to the report, with as many bytes per element as the
  // segments that were sent.
  void report_staying(std::span<const Written> segments);

  PieceThreads& threads() { return threads_; }
  bool is_large() const { return is_large_; }  // the means do not stay in the caches
  // The payloads of a segment's pieces, by piece and rank: filled by weigh().
  std::span<const std::byte> payload(std::size_t i, std::size_t peer) const {
    return payloads_[i * ranks_ + peer];
  }

  // Measures tensors or parts, numbered from 0: large ones one after another, each on all threads,
  // and small ones side by side. `elements_of(i)` is the length, and `measure(i, pool)` does it.
  template <class ElementsOf, class Measure>
  void measure_each(std::size_t count, const ElementsOf& elements_of, const Measure& measure) {
    constexpr std::size_t kLarge = std::size_t{1} << 18;
    std::size_t small_elements = 0;
    for (std::size_t i = 0; i < count; ++i) {
      if (elements_of(i) >= kLarge) {
        measure(i, threads_.pool());
      } else {
        small_elements += elements_of(i);
      }
    }
    threads_.run(count, threads_.shares(count, small_elements), [&](std::size_t i, PieceMemory&) {
      ThreadPool this_thread(1);
      if (elements_of(i) < kLarge) measure(i, this_thread);
      return std::optional<BadPayload>();
    });
  }

 private:
  std::unique_ptr<const Codec> find_staying_codec() const;
  // Of the codec of the uplink, or of staying_codec_.
  template <class CodecOf>
  Written encode_values(const Segment& segment, std::span<std::byte> memory,
                        const CodecOf& codec_of);
  bool is_staying(std::size_t segment) const;
  Written join_payloads(std::span<std::byte> room, std::size_t pieces, float weight);
  Decoded<Frame> checked_frame(Inbox& inbox, const FrameKind& kind, const Segment& segment,
                               std::size_t sender);

  void begin(PeerLinks& links) final;
  Turn advance(PeerLinks& links) final;
  void check_call(const ExchangeCall& call, const MethodCall& method) const;
  bool is_counted(std::size_t rank) const {
    return contributes(rank) && (counted_ == nullptr || counted_->has(rank));
  }

  Communicator::Impl& communicator_;
  const ExchangeSetup setup_;
  const std::size_t rank_;
  const std::size_t ranks_;
  const FrameKind up_kind_;
  const std::unique_ptr<const Codec> staying_codec_;  // null: the same as for everybody else
  ExchangeCall call_;
  MethodCall method_;
  ExchangeReport report_;
  bool is_started_ = false;
  PeerLinks* links_ = nullptr;
  const CountedRanks* counted_ = nullptr;
  PieceThreads& threads_;
  std::vector<Scale> scales_;  // of the values, by tensor
  std::vector<float> shares_;  // of the weights, by rank
  const bool is_large_;

  // Of the segment at hand, by piece; payloads_ by piece and rank.
  struct EncodedPiece {
    std::size_t at = 0;  // in the parcel
    std::size_t bytes = 0;
    bool finite = true;
  };
  std::vector<EncodedPiece> encoded_;
  std::vector<std::span<const std::byte>> payloads_;
  std::vector<SentPayload> sent_;

  std::span<const Segment> kept_segments_;  // of which uploads are kept
  Uploads uploads_;
};

}  // namespace gradwire
