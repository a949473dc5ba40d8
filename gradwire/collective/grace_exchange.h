// scatter and server with late ranks: the route of owner_exchange.h, but owners do not wait for all
// ranks. This is the half of a rank's own calls: it encodes and sends, and takes the means when all
// of them are here. The owner's half (grace_owner.h) works between calls, too.
//
// A rank that finds the mean of a segment already here sends a frame without a message for it,
// unless uploads are kept: then a late message counts from the next call on. All means are
// committed in their order, so replicas stay the same bit for bit.
#pragma once

#include "gradwire/collective/exchange_base.h"
#include "gradwire/collective/grace_owner.h"

namespace gradwire {

class GraceExchange final : public ExchangeBase {
 public:
  GraceExchange(Communicator::Impl& communicator, ExchangeSetup setup, Transport& transport);
  ~GraceExchange() override;

  void walk_own(const Visitor& visit) const override { walk(written_, visit); }
  std::vector<TensorPiece> owned() const override { return owner_.owned(); }
  std::size_t upload_bytes() const override;
  std::vector<std::byte> save_uploads() const override;
  void load_uploads(std::span<const std::byte> bytes) override;
  bool has_next_result() const override { return owner_.complete_calls() > calls_; }
  bool is_ahead() const override { return owner_.closed_calls() > calls_; }

 private:
  void begin_call() override;
  Turn advance_call() override;

  void measure();
  bool encode_next();
  void send_nothing(std::size_t index);
  void take_report();
  SentPayload::State state_of(std::size_t segment) const;
  void commit_next();
  bool has_sent_all();
  const Chunk& own_chunk() const { return layout().chunks[rank()]; }

  Communicator::Impl& communicator_;
  GraceOwner& owner_;
  const std::vector<std::size_t> order_;  // segments in the order of encoding
  FrameStore up_frames_;
  std::vector<Written> written_;                     // by segment; empty where nothing was sent
  std::vector<std::unique_ptr<Sender>> up_senders_;  // by segment; null for its own chunk
  std::vector<std::span<const std::byte>> payloads_came_;  // of the segment at hand, by piece

  std::uint64_t calls_ = 0;
  bool is_measured_ = false;
  bool is_settled_ = false;
  std::size_t encoded_ = 0;
  std::size_t committed_ = 0;
};

}  // namespace gradwire
