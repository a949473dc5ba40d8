// The ring for values that travel as they are, the codec `none`, without a port. The same route and
// the same sums as RingExchange. Frames are sent from the caller's memory and means are received
// into it; checksums are taken block by block, while a block is in the cache for the sum.
//
// A mean comes into the memory of a segment only after this rank has added, or sent, its values of
// that segment: so values and means may be the same memory.
#pragma once

#include <memory>
#include <vector>

#include "gradwire/collective/exchange_base.h"
#include "gradwire/collective/ring_hops.h"

namespace gradwire {

class PlainRingExchange final : public ExchangeBase {
 public:
  // There are at least two ranks.
  PlainRingExchange(Communicator::Impl& communicator, ExchangeSetup setup, Transport& transport);
  ~PlainRingExchange() override { await_started(); }

  void walk_own(const Visitor& visit) const override;

 private:
  // A stop of a segment, with what is needed to send its frame on. The head of a frame is its
  // header and the head of its parcel; what follows are floats, wherever they are.
  struct Stop {
    RingHop hop;
    std::span<std::byte> head;
    std::unique_ptr<Sender> sender;      // null where nothing goes on
    std::unique_ptr<Receiver> receiver;  // of a mean
    std::span<const std::byte> sum;      // that goes on from its room
  };

  void begin_call() override;
  Turn advance_call() override;

  void set_memory();
  bool start_sum();
  bool add_sum();
  bool take_mean();
  void release_rooms();
  bool has_sent_all();

  void send_values(Stop& stop);
  void add_values(Stop& stop, std::span<std::byte> frame);
  void write_head(const Stop& stop, bool poison, float weight, std::span<std::byte> head) const;
  // What the head of a frame from the neighbour behind says. Anything else than expected ends
  // everything; whether the floats are damaged is left to check_sum().
  struct Head {
    bool poison = false;
    float weight = 0;
  };
  Head open_head(const Stop& stop, std::size_t sender, const MessageRoom& frame,
                 std::span<const std::byte> head);
  void check_sum(const MessageRoom& frame, std::span<const std::byte> head,
                 std::size_t payload_bytes);
  std::size_t rank_behind() const { return (rank() + ranks() - 1) % ranks(); }

  const FrameKind& kind_of(const Stop& stop) const {
    const RingHop::Kind kind = stop.hop.kind;
    return kind == RingHop::Kind::first_sum || kind == RingHop::Kind::sum ? up_kind() : mean_kind_;
  }
  const Segment& segment_of(const Stop& stop) const { return layout().segments[stop.hop.segment]; }
  static std::size_t head_bytes(const Segment& segment) {
    return kFrameHeaderBytes + parcel_head_bytes(segment.piece_count);
  }
  static std::size_t payload_bytes(const Segment& segment) {
    return parcel_head_bytes(segment.piece_count) + segment.elements * sizeof(float);
  }
  static std::size_t frame_bytes(const Segment& segment) {
    return kFrameHeaderBytes + payload_bytes(segment);
  }

  // The memory of a segment in the caller's tensors: a stretch for each tensor.
  struct Stretches {
    std::size_t first = 0;
    std::size_t count = 0;
  };
  template <class T>
  std::span<const T> stretches_of(const Stop& stop, const std::vector<T>& all) const {
    const auto& [first, count] = stretches_[stop.hop.segment];
    return std::span(all).subspan(first, count);
  }

  std::span<const std::size_t> lengths_of(const Segment& segment) const {
    return std::span(piece_bytes_).subspan(segment.first_piece, segment.piece_count);
  }

  const FrameKind mean_kind_;
  std::vector<std::size_t> piece_bytes_;  // by piece
  std::vector<Stretches> stretches_;      // by segment, into the next ones
  std::vector<TensorPiece> tensor_pieces_;
  std::vector<std::span<const std::byte>> values_out_;
  std::vector<std::span<const std::byte>> means_out_;
  std::vector<std::span<std::byte>> means_in_;

  FrameStore heads_;
  std::vector<Stop> starts_, sums_, means_;           // in their order
  FrameStore rooms_;                                  // for the sums that come
  std::vector<std::unique_ptr<Receiver>> receivers_;  // by room
  std::vector<float> weighted_;  // the values of starts_, times the weight, if that is not 1

  // What has happened in this call.
  std::size_t started_ = 0;
  std::size_t added_ = 0;
  std::size_t released_ = 0;  // sums whose rooms are free again
  std::size_t taken_ = 0;
};

}  // namespace gradwire
