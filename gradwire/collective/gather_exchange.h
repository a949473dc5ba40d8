// gather: everybody gets everybody's message and adds up by itself. There is no second rounding and
// one way less to wait for, but a rank sends its message N-1 times.
#pragma once

#include "gradwire/collective/exchange_base.h"

namespace gradwire {

class GatherExchange final : public ExchangeBase {
 public:
  GatherExchange(Communicator::Impl& communicator, ExchangeSetup setup, Transport& transport);
  ~GatherExchange() override { await_started(); }

  void walk_own(const Visitor& visit) const override { walk(written_, visit); }

 private:
  void begin_call() override;
  Turn advance_call() override;
  bool work_ahead() override;

  void encode_next();
  bool is_ready();
  void add_up(const Segment& segment, std::size_t index);
  // With a gate, each rank's message is taken as it comes.
  Turn advance_gated();
  bool take_gated();
  void take_results();
  Turn commit_turn();
  void commit_next();
  bool has_sent_all();

  // Frames stay in their rooms until the port has taken them.
  bool keeps_frames() const { return setup().is_ported || setup().keeps_uploads; }
  std::span<ParcelReader> parcels_of(std::size_t segment) {
    return std::span(parcels_).subspan(setup().is_ported ? segment * ranks() : 0, ranks());
  }

  FrameStore frames_;
  std::vector<Written> written_;                               // by segment
  std::vector<std::vector<std::unique_ptr<Sender>>> senders_;  // by rank, by segment
  std::vector<std::unique_ptr<Inbox>> inboxes_;                // by rank; null for itself
  std::vector<ParcelReader> parcels_;  // by rank; with a port, by segment and rank
  std::vector<std::vector<std::span<const std::byte>>> came_frames_;  // with a gate, by rank
  bool is_measured_ = false;
  bool is_released_ = false;  // by the gate
  std::size_t encoded_ = 0;
  std::size_t added_ = 0;
  std::size_t committed_ = 0;  // with a port
  std::size_t zeroed_ = 0;     // segments whose means have been zeroed ahead
};

}  // namespace gradwire
