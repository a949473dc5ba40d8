// scatter and server: each chunk has an owner, who gets everybody's message for it, averages, and
// sends the result down to all. Bytes a rank sends, with N ranks that own alike: (N-1)/N of its
// message, and as much again as owner.
//
// Segments flow: while some are encoded, others travel, are averaged or decoded. Nobody waits for a
// rank to send, only for what has to come.
#pragma once

#include <algorithm>

#include "gradwire/collective/chunk_array.h"
#include "gradwire/collective/exchange_base.h"

namespace gradwire {

// The segments in the order in which a rank encodes them. Round by round a segment for each owner,
// the next rank's first and the own chunk's last: all links are busy from the start, and no owner
// waits for its first segment.
std::vector<std::size_t> encoding_order(const Layout& layout, std::size_t rank);
std::size_t owner_of(const Layout& layout, std::size_t segment);

class OwnerExchange final : public ExchangeBase {
 public:
  OwnerExchange(Communicator::Impl& communicator, ExchangeSetup setup, Transport& transport);
  ~OwnerExchange() override { await_started(); }

  void walk_own(const Visitor& visit) const override { walk(written_, visit); }
  std::vector<TensorPiece> owned() const override;

 private:
  void begin_call() override;
  Turn advance_call() override;
  // Zeroes the means of a segment that is to come down.
  bool work_ahead() override;

  void measure();
  bool has_all_frames() const;
  // Each does one segment's worth of work, if there is some to do now.
  bool encode_next();
  bool reduce_next();
  bool decode_next();
  bool is_to_come_down(std::size_t segment) const;
  void tell_result(std::size_t owner);
  void take_results();
  void settle();
  Turn commit_turn();
  void commit_next();
  bool has_sent_all();

  // By segment of the own chunk.
  void open_contributions(std::size_t index);
  // Sets `wanted` to what should go down.
  std::optional<BadPayload> average_own(const Piece& piece, std::size_t i, PieceMemory& memory,
                                        std::span<const float>& wanted);
  void average_segment(const Segment& segment);
  void collect(const Segment& segment);
  void measure_parts();
  void send_down(std::size_t index);
  Encoded encode_down(const Piece& piece, std::span<const float> mean, std::span<std::byte> room,
                      PieceMemory& memory);

  // Where the mean of a part, and what is wanted for it, are laid out if they have to be: the mean
  // for an owner's port, and both for a downlink's codec that sees the whole part first.
  std::span<float> own_mean(std::size_t part);
  std::span<float> own_wanted(std::size_t part);
  static std::span<float> within(std::span<float> part, const Piece& piece) {
    return part.subspan(piece.first_in_part, piece.of_tensor.elements);
  }
  // Frames stay in their rooms until a port has taken them.
  std::size_t inbox_rooms(std::size_t frames, bool keeps_frames) const {
    return keeps_frames ? frames : std::min(kInboxRooms, frames);
  }

  bool is_collecting() const {
    return ups().collects() && downs().collects() && method().owner == nullptr;
  }
  const Codec& down(const Piece& piece) const { return downs().of(piece.of_tensor.tensor); }
  const Chunk& own_chunk() const { return layout().chunks[rank()]; }
  std::span<const Segment> own_segments() const { return layout().segments_of(own_chunk()); }
  std::size_t down_frame_bytes_max(const Segment& segment) const;
  std::size_t down_bytes_max(const Piece& piece) const;

  const FrameKind down_kind_;

  // What this rank sends up, by segment, and to whom.
  std::vector<std::size_t> order_;  // segments in the order of encoding
  FrameStore up_frames_;
  std::vector<Written> written_;
  std::vector<std::unique_ptr<Sender>> up_senders_;  // null for its own chunk
  // What has happened in this call.
  bool is_measured_ = false;
  bool is_settled_ = false;    // all frames have come
  std::size_t committed_ = 0;  // segments, with a worker's port
  std::size_t encoded_ = 0;
  std::size_t own_encoded_ = 0;
  std::size_t looked_at_ = 0;  // by work_ahead(), in the order of encoding
  std::vector<char> is_zero_;  // by segment: its means have been zeroed ahead

  // What it does as an owner, by segment of its chunk.
  std::vector<std::unique_ptr<Inbox>>
      up_inboxes_;                     // by rank; null for itself and for a dedicated server
  std::vector<ParcelReader> parcels_;  // by rank
  std::vector<Scale> part_scales_;     // of the means, by part of its chunk
  std::vector<Scale> piece_scales_;    // what was collected, by piece of the segment at hand
  ChunkArray own_means_;               // with a worker's port, whose memory is not free for them
  ChunkArray own_wanted_;
  std::vector<char> poisoned_;
  std::vector<float> weights_;
  FrameStore down_frames_;
  std::vector<Written> sent_down_;
  std::vector<std::vector<std::unique_ptr<Sender>>> down_senders_;  // by rank; empty for itself
  std::size_t reduced_ = 0;

  // What it gets from the other owners.
  std::vector<std::unique_ptr<Inbox>> down_inboxes_;       // by rank; null where nothing comes
  std::vector<ParcelReader> came_down_;                    // with a worker's port, by segment
  std::vector<std::span<const std::byte>> came_frames_;    // the same, whole frames
  std::vector<std::span<const std::byte>> came_payloads_;  // of the segment at hand, by piece
};

}  // namespace gradwire
