// A simulated process: a membership and its owner, which computes gradients, exchanges them and
// keeps a model and an error memory. What a trainer has to do for a membership is here.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gradwire/membership/membership.h"
#include "tests/simulate/ledger.h"
#include "tests/simulate/network.h"

namespace gradwire::simulate {

// What processes share.
struct Surroundings {
  Network& network;
  Ledger& ledger;
  Codecs& codecs;
  Dice& dice;
  Route route;
  membership::Options options;
  std::function<std::uint32_t(const membership::Member&)> process_of;
  std::function<membership::MemberId(std::uint32_t)> id_of;
  std::function<void(const std::string&)> trace;  // empty: nobody reads it
};

class Process {
 public:
  Process(Surroundings& around, std::uint32_t index, membership::Member self);

  void found(const membership::View& founders);
  void knock(const std::vector<std::string>& addresses);

  void take(const Event& event);
  void connected(std::uint32_t peer);
  void lost_connection(std::uint32_t peer);

  // Ends at once, in the middle of whatever it does. The host tells its peers, or is lost, too.
  enum class Host { lives, lost };
  void kill(Host host);
  void kill_after_sends(std::uint64_t sends) { sends_left_ = sends; }
  void never_die() { sends_left_.reset(); }
  void pause(Clock until) { paused_until_ = until; }
  void leave();
  void slow_disk(Clock delay) { write_delay_ = delay; }

  bool is_alive() const { return seen_.is_alive; }
  bool is_paused() const { return around_.network.now() < paused_until_; }
  bool has_witness() const { return has_witness_; }
  bool was_seen_ending() const { return was_seen_ending_; }
  Clock paused_until() const { return paused_until_; }
  Clock frozen_since() const { return frozen_since_; }
  const membership::Membership& member() const { return *member_; }
  const membership::Member& self() const { return self_; }
  const Witnessed& seen() const { return seen_; }
  const std::optional<membership::EndReason>& ended() const { return ended_; }

 private:
  void receive(std::uint32_t from, Packet& packet);
  void receive_frame(const FramePacket& frame);
  void receive_model(const ModelReply& reply);
  void answer(std::uint32_t from, const FetchRequest& request);
  void answer(std::uint32_t from, const ModelRequest& request);

  void act();
  void perform(const membership::SendMessage& action);
  void perform(const membership::ConnectTo& action);
  void perform(const membership::CloseConnection& action);
  void perform(const membership::AdoptView& action);
  void perform(const membership::BeginStep& action);
  void perform(const membership::StopStep& action);
  void perform(const membership::AbortStep& action);
  void perform(const membership::CommitStep& action);
  void perform(const membership::FetchFrame& action);
  void perform(const membership::CatchUp& action);
  void perform(const membership::Wait& action);
  void perform(const membership::End& action);

  membership::Time local_time() const;
  void send(std::uint32_t to, Packet packet);
  void send_frame(std::uint32_t to, const FramePacket& frame);
  void send_others(const FrameKey& key, const Bytes& frame);
  void submit();
  void take_frame(const FrameKey& key, const Bytes& bytes);
  void write();
  void ask_for_model();
  Vector gradient_of(std::uint64_t step) const;
  void trace(const std::string& text) const;

  Surroundings& around_;
  const std::uint32_t index_;
  const membership::Member self_;
  const std::int64_t clock_offset_;
  const std::int64_t clock_permille_;  // its clock runs at this speed
  const bool has_witness_;
  std::optional<membership::Membership> member_;
  Witnessed seen_;
  bool was_seen_ending_ = false;
  bool is_acting_ = false;
  std::optional<membership::EndReason> ended_;
  std::optional<std::uint64_t> sends_left_;
  Clock paused_until_ = 0;
  Clock frozen_since_ = 0;
  Clock write_delay_ = 0;

  // The trainer.
  Vector model_ = Vector(kElements, 0);
  Vector gradient_;  // held until commit, which overwrites it
  std::uint64_t gradient_step_ = 0;
  bool is_exchanging_ = false;
  std::uint64_t compute_number_ = 0;
  std::optional<StepExchange> current_;
  std::uint64_t last_world_ = 0;  // the frames of the last step, for others
  std::vector<Bytes> last_frames_;
  std::vector<FramePacket> early_;
  std::vector<std::pair<std::uint32_t, FramePacket>> unsent_;  // until there is a connection
  std::optional<std::uint64_t> catch_up_to_;
};

}  // namespace gradwire::simulate
