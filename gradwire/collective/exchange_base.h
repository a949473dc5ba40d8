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
#include "gradwire/collective/frame_inbox.h"
#include "gradwire/collective/layout.h"
#include "gradwire/collective/method_exchange.h"
#include "gradwire/collective/parcel.h"
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
  std::uint32_t number = 0;  // of the exchange in its run
  Layout layout;
};

// Makes the exchange of a setup, on the progress thread.
using ExchangeMaker = std::unique_ptr<MethodExchange> (*)(Communicator::Impl& communicator,
                                                          ExchangeSetup setup,
                                                          Transport& transport);
ExchangeMaker exchange_maker(Topology topology);

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
  std::size_t upload_bytes() const final { return uploads_.bytes(); }
  std::vector<std::byte> save_uploads() const final { return uploads_.save(); }
  void load_uploads(std::span<const std::byte> bytes) final;

 protected:
  ExchangeBase(Communicator::Impl& communicator, ExchangeSetup setup);

  void await_started() noexcept;

  // The exchange of call(), on the progress thread. Fills the report, apart from the waiting.
  virtual void exchange(PeerLinks& links) = 0;

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

  // With a worker's port, the values are where the gradients are.
  std::span<const float> values(const TensorPiece& piece) const {
    if (setup_.is_ported) return means(piece);
    return call_.values[piece.tensor].subspan(piece.first, piece.elements);
  }
  std::span<float> means(const TensorPiece& piece) const {
    return call_.means[piece.tensor].subspan(piece.first, piece.elements);
  }

  // --- The uplink's message ---

  const FrameKind& up_kind() const { return up_kind_; }
  std::size_t up_frame_bytes_max(const Segment& segment) const;
  void measure_values();
  void prepare_all();  // in place
  Written encode_up(const Segment& segment, std::span<std::byte> memory);

  // --- Frames in general ---

  // One piece's values, and what its codec has to know about them.
  struct Source {
    const Scale& scale;
    TensorRange range;
    Rng rng;
  };
  // Encodes the pieces of a segment. `source_of(piece)` gives a Source.
  template <class SourceOf>
  Written write_parcel(const FrameKind& kind, const Segment& segment, float weight,
                       const SourceOf& source_of, std::span<std::byte> memory) {
    bool finite = true;
    const std::span<const Piece> pieces = layout().pieces_of(segment);
    ParcelWriter parcel(memory.subspan(kFrameHeaderBytes), pieces.size(), weight);
    for (const Piece& piece : pieces) {
      finite =
          encode_piece(kind.codecs.of(piece.of_tensor.tensor), source_of(piece), parcel).finite &&
          finite;
    }
    return {.parcel = parcel.bytes(), .finite = finite};
  }
  struct EncodedPiece {
    std::span<const std::byte> payload;
    bool finite = true;
  };
  EncodedPiece encode_piece(const Codec& codec, const Source& source, ParcelWriter& parcel);
  // Writes the header in front of the parcel. Returns the frame.
  std::span<const std::byte> seal(const FrameKind& kind, const Segment& segment, bool poison,
                                  std::span<const std::byte> parcel, std::span<std::byte> memory);

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

  // The same for what a rank sends up, segment `kept_index` of those of which uploads are kept: a
  // frame may say that the last one holds.
  Incoming open_upload(Inbox& inbox, const Segment& segment, std::size_t kept_index);
  // What this rank itself gives: what it wrote, or its last message.
  Incoming open_own_upload(const Written& written, const Segment& segment, std::size_t kept_index);
  void keep_uploads(std::span<const Segment> segments) {
    if (!setup_.keeps_uploads) return;
    kept_segments_ = segments;
    uploads_ = Uploads(ranks_, segments.size());
  }
  // A parcel that this rank wrote itself.
  static ParcelReader open_own(const Written& written, const Segment& segment);

  // A payload that cannot be decoded ends everything, too.
  void check(const Decoded<void>& decoded, std::size_t sender);

  // The final mean of a piece. What is too large for the caches goes past them.
  void decode_mean(const Codec& codec, std::span<const std::byte> payload, const TensorPiece& piece,
                   std::size_t sender);

  // The mean of everybody's parcels for a segment, times a scale: first the weights, of which the
  // sum is returned, then piece by piece, added in the order of the ranks. Parcels are by rank;
  // those of ranks that do not contribute are not looked at.
  float weigh(std::span<const ParcelReader> parcels);
  void average(const Piece& piece, std::span<ParcelReader> parcels, std::span<float> mean,
               float scale = 1);

  // Hands all pieces of a segment to the worker's port: what this rank sent, if it did, and what
  // all got. `fill_mean(piece, mean, scale)` writes that, times the scale. After poison, the output
  // is NaN and the port is told nothing. Values that were kept are in the cache and of no more use
  // when the mean is made, so that it is laid out in their place.
  template <class FillMean>
  void commit_segment(std::size_t segment_index, const Written* written,
                      const FillMean& fill_mean) {
    const Segment& segment = layout().segments[segment_index];
    ParcelReader own = written != nullptr ? open_own(*written, segment) : ParcelReader();
    for (const Piece& piece : layout().pieces_of(segment)) {
      const SentPiece sent = written != nullptr
                                 ? SentPiece(up(piece.of_tensor.tensor), own.next(), workspace_)
                                 : SentPiece();
      commit(piece, sent, fill_mean);
    }
    links_->presence.tick();
  }
  template <class FillMean>
  void commit(const Piece& piece, const SentPiece& sent, const FillMean& fill_mean) {
    const StopWatch watch(report_.phases.decode_seconds);
    WorkerPort& port = *method_.worker;
    const std::span<float> result = means(piece.of_tensor);
    if (report_.poisoned) {
      std::fill(result.begin(), result.end(), std::numeric_limits<float>::quiet_NaN());
      return;
    }
    port.remember(piece.of_tensor, sent, result);
    const std::span<float> mean = port.keeps_values() ? result : scratch(result.size());
    fill_mean(piece, mean, port.mean_scale(piece.of_tensor.tensor));
    port.commit(piece.of_tensor, mean, result);
  }
  // Call it when all frames have been seen: what came counts from now on, or never.
  void settle_uploads() { report_.poisoned ? uploads_.forget() : uploads_.commit(); }

  void decode_into_means(const FrameKind& kind, const Segment& segment, ParcelReader parcel,
                         std::size_t sender);

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

  Workspace& workspace() { return workspace_; }

  // Floats for one piece, to work on in the cache.
  std::span<float> scratch(std::size_t elements) { return std::span(scratch_).first(elements); }

 private:
  Decoded<Frame> checked_frame(Inbox& inbox, const FrameKind& kind, const Segment& segment,
                               std::size_t sender);
  [[noreturn]] void refuse_frame(std::size_t peer, const DecodeError& error);
  std::span<const float> prepared(const TensorPiece& piece);
  FrameHeader header_of(const FrameKind& kind, const Segment& segment) const;

  void work(PeerLinks& links) final;
  void check_call(const ExchangeCall& call, const MethodCall& method) const;

  Communicator::Impl& communicator_;
  const ExchangeSetup setup_;
  const std::size_t rank_;
  const std::size_t ranks_;
  const FrameKind up_kind_;
  ExchangeCall call_;
  MethodCall method_;
  ExchangeReport report_;
  bool is_started_ = false;
  PeerLinks* links_ = nullptr;
  std::vector<Scale> scales_;  // of the values, by tensor
  std::vector<float> shares_;  // of the weights, by rank
  std::vector<float> scratch_;
  const bool is_large_;
  Workspace workspace_;
  std::span<const Segment> kept_segments_;  // of which uploads are kept
  Uploads uploads_;
};

}  // namespace gradwire
