// ring: the sum of a chunk starts at the neighbour behind its owner. It passes from neighbour to
// neighbour and ends at the owner, which then sends the mean around the ring. A rank sends 2(N-1)/N
// of a message, always to the same neighbour.
//
// Payloads that can be added without decoding are added exactly (see Codec::summable_from). Any
// other unbiased codec rounds again at every hop. This adds no bias, but noise: see ring_omega.
#pragma once

#include "gradwire/collective/exchange_base.h"
#include "gradwire/collective/ring_hops.h"

namespace gradwire {

// The noise of a ring that rounds at every hop with a codec of this omega. The expected squared
// error of the mean is at most ring_omega times the mean of the squared norms of the ranks'
// vectors.
double ring_omega(double omega, std::size_t ranks);

class RingExchange final : public ExchangeBase {
 public:
  RingExchange(Communicator::Impl& communicator, ExchangeSetup setup, Transport& transport);
  ~RingExchange() override { await_started(); }

  void walk_own(const Visitor& visit) const override;

 private:
  void begin_call() override;
  Turn advance_call() override;

  bool prepare_next();
  bool hop_next();
  void pass_mean(const RingHop& hop);
  void commit_next();
  bool has_sent_all();

  // Writes a complete mean to the caller's memory, or keeps it for the worker's port.
  void take_mean(std::size_t segment_index, std::span<const std::byte> parcel, std::size_t owner);

  // Adds this rank's values of a segment to the incoming sum, if there is one, and sends the result
  // on. At the chunk's owner the sum is complete: the owner sends the mean.
  void add_own(std::size_t segment_index, const Incoming* incoming, bool is_mean);
  Written sum_payloads(std::size_t segment_index, ParcelReader* incoming, bool is_mean,
                       std::span<std::byte> memory);
  Written round_again(const Segment& segment, ParcelReader* incoming, bool is_mean,
                      std::span<std::byte> memory);
  std::size_t sum_payload(std::span<const std::byte> own, const std::span<const std::byte>* came,
                          float scale, std::span<std::byte> sum);

  std::size_t rank_behind(std::size_t steps) const { return (rank() + ranks() - steps) % ranks(); }
  std::size_t hop_frame_bytes_max(const Segment& segment) const;

  // Memory for the next frame to send; whether it is free; and the sending of that frame.
  std::span<std::byte> next_room() { return out_frames_.room(sent_ % out_frames_.size()); }
  bool has_room() { return senders_[sent_ % senders_.size()]->done(); }
  void send_room(std::span<const std::byte> frame);

  const bool is_summed_;
  const FrameKind mean_kind_;
  FrameStore own_frames_;  // by segment, if own payloads are added without decoding
  std::vector<Written> own_written_;
  FrameStore mean_parcels_;  // with a worker's port, by segment
  std::vector<std::span<const std::byte>> mean_written_;
  FrameStore out_frames_;
  std::vector<std::unique_ptr<Sender>> senders_;  // by room
  std::unique_ptr<Inbox> inbox_;                  // null for a ring of one
  const std::vector<RingHop> hops_;               // in their order

  // What has happened in this call.
  std::size_t prepared_ = 0;  // segments of which the own payloads are there
  std::size_t hopped_ = 0;
  std::size_t sent_ = 0;
  std::size_t committed_ = 0;  // segments, with a worker's port
  // Of the segment at hand, by piece.
  std::vector<std::span<const std::byte>> came_;
  std::vector<std::span<const std::byte>> mean_payloads_;
};

}  // namespace gradwire
