// ring: the sum of a chunk starts behind its owner, goes from neighbour to neighbour until it
// reaches the owner, and the mean goes round once more. A rank sends 2(N-1)/N of a message, always
// to the same neighbour.
//
// Where payloads can be summed (none, randk with a shared seed) they are, and nothing is lost on
// the way. Any other unbiased codec rounds again at every hop: still without bias, but with more
// noise. ring_omega says how much.
#pragma once

#include "gradwire/collective/exchange_base.h"

namespace gradwire {

// Of the mean of N vectors on a ring that rounds at every hop by a codec of this omega: the mean's
// expected squared error is at most ring_omega times the mean of the vectors' squared norms.
double ring_omega(double omega, std::size_t ranks);

class RingExchange final : public ExchangeBase {
 public:
  RingExchange(Communicator::Impl& communicator, ExchangeSetup setup, Transport& transport);
  ~RingExchange() override { await_started(); }

  void walk_own(const Visitor& visit) const override;

 private:
  void exchange(PeerLinks& links) override;

  void encode_own();
  void start_sums();
  void pass_sums();
  void share_means();
  void commit_all();

  // A mean has come, or was made here: to its place, or kept for the worker's port.
  void take_mean(std::size_t segment_index, std::span<const std::byte> parcel, std::size_t owner);

  // Adds this rank's values of a segment to what came, if anything did, and sends the sum on. At
  // the chunk's owner it is complete: the mean is sent instead.
  void add_own(std::size_t segment_index, const Incoming* incoming, bool is_mean);
  Written sum_payloads(std::size_t segment_index, ParcelReader* incoming, bool is_mean,
                       std::span<std::byte> memory);
  Written round_again(const Segment& segment, ParcelReader* incoming, bool is_mean,
                      std::span<std::byte> memory);
  std::size_t sum_payload(std::span<const std::byte> own, const std::span<const std::byte>* came,
                          float scale, std::span<std::byte> sum);

  std::size_t rank_behind(std::size_t steps) const { return (rank() + ranks() - steps) % ranks(); }
  std::size_t hop_frame_bytes_max(const Segment& segment) const;

  // A room for a frame to send, once it is free; and sending what was written there.
  std::span<std::byte> next_room();
  void send_room(std::span<const std::byte> frame);

  const bool is_summed_;
  const FrameKind mean_kind_;
  FrameStore own_frames_;  // where own payloads are summed and have to be encoded, by segment
  std::vector<Written> own_written_;
  FrameStore mean_parcels_;  // with a worker's port, by segment
  std::vector<std::span<const std::byte>> mean_written_;
  FrameStore out_frames_;
  std::vector<std::unique_ptr<Sender>> senders_;  // by room
  std::size_t sent_ = 0;
  std::unique_ptr<Inbox> inbox_;  // null for a ring of one
  Scale hop_scale_;
};

}  // namespace gradwire
