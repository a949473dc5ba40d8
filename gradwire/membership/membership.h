// Membership: one member's part in deciding who takes part in a run, and which steps count. A state
// machine: events go in by the on_ functions, actions come out by take_actions(). It has no
// threads, clocks or sockets, and the same events give the same actions. For one thread at a time.
//
// docs/membership.md has the protocol and why it is safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gradwire/membership/action.h"
#include "gradwire/membership/decide.h"
#include "gradwire/membership/message.h"
#include "gradwire/membership/view.h"

namespace gradwire::membership {

struct Options {
  Time silence{10'000};           // a member that is not heard for this long is lost
  Time alive_every{1'000};        // between signs of life; several must fit into `silence`
  Time retry{500};                // between attempts to connect, to knock, to coordinate
  Time reconnect_grace{300};      // for members that live and have lost their connection
  Time wait{600'000};             // without a quorum, or without being admitted, until the end
  std::size_t members_least = 1;  // with fewer it does not begin a step
  std::uint64_t join_lag = 1;     // steps that a newcomer may be behind when it is admitted
};

// How a member was lost.
enum class Evidence {
  closed,  // the connection was closed or reset. The process may live
  ended,   // a witness saw the process end, and has its last word
};

class Membership {
 public:
  // A founder: all founders have the same view, number 1, and the same model after step 0.
  Membership(const Options& options, Member self, View founders, std::uint64_t hash, Time now);

  // A newcomer: knows the addresses of some members, and has no model.
  Membership(const Options& options, Member self, const std::vector<std::string>& addresses,
             Time now);

  // --- Events --------------------------------------------------------------------------------

  void on_message(const MemberId& from, const Message& message, Time now);
  void on_heard(const MemberId& from, Time now);  // a frame, or anything else that shows life
  void on_connected(const MemberId& id, Time now);
  // A last word is with Evidence::ended only.
  void on_lost(const MemberId& id, Evidence evidence, Time now, const LastWord* word = nullptr);
  void on_tick(Time now);  // often: a fraction of every option

  // The frames of a rank of view `world` are complete.
  void on_frame(std::uint64_t world, std::uint64_t step, std::size_t rank);
  void on_committed(std::uint64_t step, std::uint64_t hash, Time now);
  void on_caught_up(std::uint64_t step, Time now);  // a newcomer, as often as it gets further
  void on_leave(Time now);                          // this member wants to leave

  std::vector<Action> take_actions();

  // --- What it is at -------------------------------------------------------------------------

  const View& view() const { return view_; }  // number 0 if it was not admitted yet
  std::size_t rank() const { return rank_; }
  bool is_over() const { return phase_ == Phase::over; }
  bool is_changing() const { return phase_ == Phase::changing; }
  std::uint64_t committed() const { return committed_; }
  // Newcomers may fetch from this member: it has a model. One without never donates.
  bool may_donate() const { return phase_ != Phase::knocking && !is_fresh_; }

  // A newcomer's donors and how far they are, once a member has answered.
  const std::optional<Welcome>& welcome() const { return welcome_; }

  // For witnesses. A member's witness must have it before any message is sent.
  LastWord last_word() const { return {view_.number, self_.id, adopted_, accepted_}; }

 private:
  enum class Phase { knocking, running, changing, over };
  enum class Origin { here, told };  // who noticed that the step must stop

  struct Peer {
    bool is_connected = false;
    bool is_lost = false;
    Departure why = Departure::silent;
    Time heard{};
  };

  struct Newcomer {
    Member member;
    std::uint64_t step = 0;
    Time heard{};
  };

  // The coordinator's attempt to end the view.
  struct Attempt {
    Collect collect;
    Time began{};
    std::vector<std::optional<Report>> reports;  // by rank
    // From the proposal on. A last word that comes later may contradict it: the attempt begins
    // anew.
    std::optional<Propose> proposal;
    RankSet accepted_by;
  };

  // Messages, one function each (membership_messages.cpp).
  void on(const MemberId& from, const Alive& alive, Time now);
  void on(const MemberId& from, const Stop& stop, Time now);
  void on(const MemberId& from, const Collect& collect, Time now);
  void on(const MemberId& from, const Report& report, Time now);
  void on(const MemberId& from, const Propose& propose, Time now);
  void on(const MemberId& from, const Accept& accept, Time now);
  void on(const MemberId& from, const Refuse& refuse, Time now);
  void on(const MemberId& from, const Go& go, Time now);
  void on(const MemberId& from, const Removed& removed, Time now);
  void on(const MemberId& from, const Knock& knock, Time now);
  void on(const MemberId& from, const Welcome& welcome, Time now);
  void on(const MemberId& from, const Leave& leave, Time now);
  bool is_of_view(const MemberId& from, std::uint64_t view);
  bool promise(const MemberId& from, Ballot ballot, Time now);

  // Steps.
  void proceed(Time now);
  void commit_if_complete();
  void stop(Origin origin, Time now);
  void expect_step();
  void settle_step(const Decision& decision);

  // Views (membership_views.cpp).
  void adopt(const Decision& decision, Time now);
  void meet_members(const View& before, const std::vector<Peer>& peers_before, Time now);
  void end(EndReason reason);
  void note_last_word(const LastWord& word, Time now);
  void connected_in_change(std::size_t rank, Time now);

  // Coordinating (membership_attempt.cpp).
  void coordinate_if_due(Time now);
  void begin_attempt(std::uint64_t after_step, Time now);
  void drop_attempt(Time now);
  void propose_if_ready(Time now);
  void propose(const Decision& decision, Time now);
  void go_if_accepted(Time now);
  std::optional<Decision> accepted_before(const RankSet& reported) const;
  std::vector<Member> ready_newcomers(Time now) const;
  bool wants_change(Time now) const;
  std::size_t living_before() const;
  RankSet ended() const;
  RankSet reachable() const;
  RankSet unreachable() const;
  Time takeover() const { return options_.silence * 3 / 2; }

  // Reporting.
  Report make_report() const;
  void report_if_due(Time now);
  void report_again(Time now);

  // Ticks.
  void tick_newcomer(Time now);
  void check_silence(Time now);
  void tick_change(Time now);

  template <class M>
  void send(const MemberId& to, const M& message) {
    actions_.push_back(SendMessage{to, message});
  }
  template <class M>
  void send_all(const M& message) {
    for (std::size_t rank = 0; rank < peers_.size(); ++rank) {
      if (rank != rank_ && peers_[rank].is_connected) send(view_.members[rank].id, message);
    }
  }

  const Options options_;
  const Member self_;
  std::vector<Action> actions_;
  Phase phase_;
  bool leaves_ = false;
  Time last_tick_{};
  Time next_alive_{};
  Time next_retry_{};

  // The view, and how it began. By rank: peers_.
  View view_;
  std::size_t rank_ = 0;
  std::optional<Decision> adopted_;
  std::vector<Peer> peers_;
  std::vector<MemberId> strangers_;  // connected, and not in the view

  // Steps. committed_ + 1 is the next one. It is exchanged in view world_, which is view_, or the
  // one before if its frames are only being fetched.
  bool is_fresh_;
  std::uint64_t committed_ = 0;
  std::uint64_t hash_ = 0;
  std::uint64_t settled_ = 0;
  std::uint64_t world_ = 0;
  std::size_t world_size_ = 0;
  RankSet held_;
  bool is_begun_ = false;
  bool is_fetching_ = false;
  bool is_committing_ = false;  // CommitStep was said; on_committed will come

  // The change of view: what this member has promised.
  Time changing_since_{};
  bool said_wait_ = false;
  Ballot promised_;
  Ballot reported_;
  std::uint64_t finish_step_ = 0;  // commit this one before reporting; 0: none
  std::optional<Accepted> accepted_;
  std::vector<LastWord> last_words_;

  // As coordinator.
  std::optional<Attempt> attempt_;
  Time next_attempt_{};
  std::uint32_t highest_round_ = 0;
  std::vector<Newcomer> newcomers_;
  RankSet leavers_;

  // As newcomer.
  std::vector<Member> contacts_;  // ids are not known until one has answered
  std::optional<Welcome> welcome_;
  bool is_ready_ = false;
  std::uint64_t caught_up_ = 0;
  Time knocking_since_{};
};

}  // namespace gradwire::membership
