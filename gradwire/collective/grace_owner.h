// The owner's half of an exchange for late ranks (grace_exchange.h): averages the own chunk for all
// ranks, and takes the means of the other owners, whether or not this rank's own call has begun. An
// owner closes a mean without the ranks that are late, and says in each frame whom it counted.
//
// Calls are counted from 0. Every rank sends one frame for each segment of every call, so an owner
// knows how far each rank has come: frames of closed calls are checked and dropped. A fast rank's
// owner waits before it is more than kStepsAheadMax calls ahead of the slowest rank, and for a rank
// that it has left out kLeftOutMax times in a row: so every rank is heard.
//
// It belongs to the communicator, which serves it until it is closed: a late rank may still send
// what the exchange of this rank has no more use for. Used on the progress thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "gradwire/collective/arrivals.h"
#include "gradwire/collective/chunk_array.h"
#include "gradwire/collective/exchange_base.h"
#include "gradwire/collective/frame_stream.h"

namespace gradwire {

class GraceOwner final : public ExchangeBase, public Service {
 public:
  GraceOwner(Communicator::Impl& communicator, ExchangeSetup setup, Transport& transport);

  // --- What this rank's own calls need ---

  // The first call says which step it is. The port stays the same.
  void begin_call(std::uint64_t step, OwnerPort* port);
  // This rank's message for its own chunk in the call that has begun. Must stay until the end of
  // the call, and comes too late if the mean is closed.
  void give(std::span<const Written> own);
  // Where uploads are kept: the last one counts again.
  void give_repeat();
  // Where uploads are kept, for a message that came too late: it counts from now on.
  void keep_late(std::span<const Written> own);

  // The mean of a segment, in the call that has begun.
  struct Result {
    ParcelReader parcel;
    CountedRanks counted;
    bool poison = false;
  };
  bool has_result(std::size_t segment) const;
  bool has_all_results() const { return complete_calls() >= calls_begun_; }
  const Result& result(std::size_t segment) const { return at(calls_begun_ - 1, segment); }
  // The call's results are not needed any more. Returns what was sent, received and done since the
  // last time.
  ExchangeReport end_call();

  // The exchange is gone: no port is called any more.
  void retire() { is_retired_ = true; }

  // From any thread: calls of which all means are here, and calls whose own mean is closed.
  std::uint64_t complete_calls() const { return complete_calls_.load(std::memory_order_acquire); }
  std::uint64_t closed_calls() const { return closed_.load(std::memory_order_acquire); }

  bool take_turn(PeerLinks& links) override;
  std::optional<Time> due() const override;

  std::vector<TensorPiece> owned() const override;

 private:
  static constexpr std::size_t kCallsKept = kStepsAheadMax + 1;

  // It has no calls of its own.
  void begin_call() override { GW_CHECK(false); }
  Turn advance_call() override { GW_CHECK(false); }
  void walk_own(const Visitor&) const override { GW_CHECK(false); }

  // Each does one piece of work, if there is some to do now.
  bool take_results();
  bool settle();
  void commit_owned();
  bool drop_late();
  void note_deliveries();
  bool decide();
  void reduce_next();

  void take_result(std::size_t owner, std::uint64_t index);
  bool may_go_ahead();
  bool is_here(std::size_t rank);
  bool has_upload(std::size_t rank);
  bool needs(std::size_t rank);
  bool is_poisoned(std::uint64_t call) const;
  void take_late(std::size_t peer, const Frame& frame, std::size_t index);
  ParcelReader parcel_of(std::size_t peer, std::size_t index, bool& poison);
  bool waits_for(std::size_t rank);
  bool may_leave_out(std::size_t rank);
  void close();
  bool open_contributions(std::size_t index);
  void average_segment(std::size_t index);
  std::optional<BadPayload> average_own(const Piece& piece, std::size_t i, PieceMemory& memory,
                                        std::span<const float>& wanted);
  void measure_parts();
  void send_down(std::size_t index);

  std::uint64_t step_of(std::uint64_t call) const { return first_step_ + call; }
  std::uint64_t closed() const { return closed_.load(std::memory_order_relaxed); }
  const Result& at(std::uint64_t call, std::size_t segment) const {
    return results_[call % kCallsKept * layout().segments.size() + segment];
  }
  Result& at(std::uint64_t call, std::size_t segment) {
    return results_[call % kCallsKept * layout().segments.size() + segment];
  }
  const Codec& down(const Piece& piece) const { return downs().of(piece.of_tensor.tensor); }
  const Chunk& own_chunk() const { return layout().chunks[rank()]; }
  std::span<const Segment> own_segments() const { return layout().segments_of(own_chunk()); }
  std::size_t down_bytes_max(const Piece& piece) const;
  std::vector<std::size_t> down_frames_of(std::size_t owner) const;
  std::size_t down_room(std::size_t index) const {
    return closed() % kCallsKept * own_chunk().segment_count + index;
  }
  std::span<float> own_mean(std::size_t part) {
    return own_means_.part(layout(), own_chunk(), part);
  }
  std::span<float> own_wanted(std::size_t part) {
    return port_ != nullptr ? own_wanted_.part(layout(), own_chunk(), part) : own_mean(part);
  }
  static std::span<float> within(std::span<float> part, const Piece& piece) {
    return part.subspan(piece.first_in_part, piece.of_tensor.elements);
  }

  const FrameKind down_kind_;
  OwnerPort* port_ = nullptr;
  bool is_retired_ = false;
  std::uint64_t first_step_ = 0;
  std::uint64_t calls_begun_ = 0;  // by this rank

  // As an owner. The call at hand is closed().
  std::vector<std::unique_ptr<FrameStream>> ups_;  // by rank; null where nothing comes
  bool is_given_ = false;                          // this rank's own message, for the call at hand
  std::span<const Written> given_;                 // empty: the last one counts again
  std::optional<Arrivals> arrivals_;               // null: Grace::is_late decides
  bool waits_for_time_ = false;                    // nothing else is missing for a decision
  std::vector<std::size_t> left_out_;              // calls in a row without the rank
  CountedRanks delivered_;
  CountedRanks counted_;  // once it is decided
  bool is_decided_ = false;
  std::size_t reduced_ = 0;            // segments
  std::vector<ParcelReader> parcels_;  // by rank
  std::vector<Scale> part_scales_;
  ChunkArray own_means_;
  ChunkArray own_wanted_;
  std::vector<char> poisoned_;  // by segment of the own chunk
  std::vector<float> weights_;
  std::vector<Written> sent_down_;
  FrameStore down_frames_;                                          // of kCallsKept calls
  std::vector<std::vector<std::unique_ptr<Sender>>> down_senders_;  // by rank, by room
  std::atomic<std::uint64_t> closed_ = 0;

  // As a receiver of means.
  std::vector<std::unique_ptr<FrameStream>> downs_;  // by owner; null where nothing comes
  std::vector<std::uint64_t> results_here_;          // frames, by owner
  std::vector<Result> results_;                      // of kCallsKept calls, by segment
  std::atomic<std::uint64_t> complete_calls_ = 0;
  std::uint64_t settled_ = 0;  // calls that the owner's port has committed
};

}  // namespace gradwire
