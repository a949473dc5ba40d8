// A member's steps, its view, and the passing of time.
#include "gradwire/membership/membership.h"

#include <algorithm>
#include <utility>

#include "gradwire/core/check.h"

namespace gradwire::membership {

Membership::Membership(const Options& options, Member self, View founders, std::uint64_t hash,
                       Time now)
    : options_(options),
      self_(std::move(self)),
      phase_(Phase::running),
      last_tick_(now),
      is_fresh_(false),
      hash_(hash) {
  const auto rank = founders.rank_of(self_.id);
  if (founders.number != 1 || !rank || founders.members.size() > kMembersMax) {
    throw Error("a founder needs view 1, itself in it, and at most " + std::to_string(kMembersMax) +
                " members");
  }
  view_ = std::move(founders);
  rank_ = *rank;
  meet_members({}, {}, now);
  expect_step();
  proceed(now);
}

Membership::Membership(const Options& options, Member self,
                       const std::vector<std::string>& addresses, Time now)
    : options_(options),
      self_(std::move(self)),
      phase_(Phase::knocking),
      last_tick_(now),
      is_fresh_(true),
      knocking_since_(now) {
  for (const std::string& address : addresses) contacts_.push_back({{}, address});
  tick_newcomer(now);
}

std::vector<Action> Membership::take_actions() { return std::exchange(actions_, {}); }

// --- Steps ---------------------------------------------------------------------------------------

// The next step is exchanged in this view, and nothing of it is there yet.
void Membership::expect_step() {
  world_ = view_.number;
  world_size_ = view_.members.size();
  held_ = {};
  is_begun_ = is_fetching_ = is_committing_ = false;
}

void Membership::proceed(Time now) {
  if (phase_ != Phase::running || is_fresh_ || is_begun_ || is_fetching_ || is_committing_) return;
  if (living_before() == 0 && wants_change(now)) {
    phase_ = Phase::changing;
    changing_since_ = now;
    begin_attempt(committed_, now);
    return;
  }
  if (view_.members.size() < options_.members_least) return;
  is_begun_ = true;
  actions_.push_back(BeginStep{view_.number, committed_ + 1});
}

void Membership::on_frame(std::uint64_t world, std::uint64_t step, std::size_t rank) {
  if (phase_ != Phase::running || is_fresh_) return;
  if (world != world_ || step != committed_ + 1 || rank >= world_size_) return;
  held_.add(rank);
  commit_if_complete();
}

void Membership::commit_if_complete() {
  if (!(is_begun_ || is_fetching_) || is_committing_ || held_.count() < world_size_) return;
  is_committing_ = true;
  actions_.push_back(CommitStep{world_, committed_ + 1});
}

void Membership::on_committed(std::uint64_t step, std::uint64_t hash, Time now) {
  if (phase_ == Phase::over) return;
  if (is_fresh_) {
    // It has reported, or will report, that it has no model. A decision may replace the step, so
    // it catches up again, from where it is.
    if (phase_ != Phase::running) return;
    is_fresh_ = false;
  } else {
    GW_CHECK(is_committing_ && step == committed_ + 1);
  }
  committed_ = step;
  hash_ = hash;
  if (step > 0) settled_ = std::max(settled_, step - 1);
  expect_step();
  if (finish_step_ != 0 && step >= finish_step_) {
    stop(Origin::told, now);
  } else if (phase_ == Phase::changing) {
    report_if_due(now);
  } else if (finish_step_ == 0) {
    proceed(now);
  }
}

// From here on no frame counts and nothing is committed, until the view has ended.
void Membership::stop(Origin origin, Time now) {
  if (phase_ != Phase::running && phase_ != Phase::changing) return;
  if (phase_ == Phase::running) {
    phase_ = Phase::changing;
    changing_since_ = now;
    said_wait_ = false;
    if ((is_begun_ || is_fetching_) && !is_committing_) {
      actions_.push_back(StopStep{committed_ + 1});
    }
  }
  finish_step_ = 0;
  if (origin == Origin::here) {
    send_all(Stop{view_.number, unreachable()});
    report_again(now);
  } else {
    report_if_due(now);
  }
  coordinate_if_due(now);
}

// --- Reporting -----------------------------------------------------------------------------------

Report Membership::make_report() const {
  return {.view = view_.number,
          .ballot = promised_,
          .is_fresh = is_fresh_,
          .leaves = leaves_,
          .committed = committed_,
          .hash = hash_,
          .world = world_,
          .world_size = static_cast<std::uint16_t>(world_size_),
          .held = held_,
          .unreachable = unreachable(),
          .accepted = accepted_,
          .last_words = last_words_};
}

void Membership::report_if_due(Time now) {
  if (phase_ != Phase::changing || is_committing_) return;
  if (promised_.round == 0 || reported_ == promised_) return;
  reported_ = promised_;
  if (promised_.rank != rank_) return send(view_.members[promised_.rank].id, make_report());
  if (!attempt_ || attempt_->proposal) return;
  attempt_->reports[rank_] = make_report();
  propose_if_ready(now);
}

void Membership::report_again(Time now) {
  reported_ = {};
  report_if_due(now);
}

// --- Views ---------------------------------------------------------------------------------------

void Membership::adopt(const Decision& decision, Time now) {
  const auto rank = decision.next.rank_of(self_.id);
  if (!rank) {
    const auto is_leaver = [&](const Departed& departed) {
      return departed == Departed{self_.id, Departure::left};
    };
    const bool left = std::ranges::any_of(decision.departed, is_leaver);
    return end(left ? EndReason::left : EndReason::removed);
  }
  const View before = std::exchange(view_, decision.next);
  const std::vector<Peer> peers_before = std::exchange(peers_, {});
  rank_ = *rank;
  adopted_ = decision;
  phase_ = Phase::running;
  promised_ = reported_ = {};
  accepted_.reset();
  const std::vector<LastWord> words = std::exchange(last_words_, {});
  attempt_.reset();
  finish_step_ = 0;
  next_attempt_ = now;
  highest_round_ = 0;
  leavers_ = {};
  std::erase_if(newcomers_, [&](const Newcomer& n) { return view_.rank_of(n.member.id); });
  actions_.push_back(AdoptView{decision});
  meet_members(before, peers_before, now);
  if (leaves_) {
    leavers_.add(rank_);
    send_all(Leave{view_.number});
  }
  settle_step(decision);
  if (unreachable().empty()) {
    proceed(now);
  } else {
    stop(Origin::here, now);
  }
  for (const LastWord& word : words) note_last_word(word, now);
}

// Connections between members that stay are kept.
void Membership::meet_members(const View& before, const std::vector<Peer>& peers_before, Time now) {
  for (std::size_t rank = 0; rank < before.members.size(); ++rank) {
    const MemberId& id = before.members[rank].id;
    if (peers_before[rank].is_connected && !view_.rank_of(id)) strangers_.push_back(id);
  }
  for (std::size_t rank = 0; rank < view_.members.size(); ++rank) {
    const Member& member = view_.members[rank];
    if (const auto old_rank = before.rank_of(member.id)) {
      peers_.push_back(peers_before[*old_rank]);
      continue;
    }
    Peer& peer = peers_.emplace_back();
    peer.heard = now;
    peer.is_connected = std::erase(strangers_, member.id) > 0;
    if (rank != rank_ && !peer.is_connected) actions_.push_back(ConnectTo{member});
  }
}

// What the decision means for the step that was under way here.
void Membership::settle_step(const Decision& decision) {
  if (is_fresh_) {
    expect_step();
    actions_.push_back(CatchUp{decision.step});
    return;
  }
  if (decision.step == committed_) {
    if (is_begun_ || is_fetching_) actions_.push_back(AbortStep{committed_ + 1});
    return expect_step();
  }
  const bool fits = decision.step == committed_ + 1 && decision.world == world_ &&
                    decision.sources.size() == world_size_;
  if (!fits) return end(EndReason::diverged);
  is_begun_ = false;
  is_fetching_ = true;
  for (std::size_t rank = 0; rank < world_size_; ++rank) {
    if (held_.has(rank)) continue;
    const MemberId& from = view_.members[decision.sources[rank]].id;
    actions_.push_back(FetchFrame{from, world_, decision.step, rank});
  }
  commit_if_complete();
}

void Membership::end(EndReason reason) {
  if (phase_ == Phase::over) return;
  phase_ = Phase::over;
  attempt_.reset();
  actions_.push_back(End{reason, settled_});
}

void Membership::on_leave(Time now) {
  if (phase_ == Phase::knocking) return end(EndReason::left);
  if (phase_ == Phase::over || leaves_) return;
  leaves_ = true;
  leavers_.add(rank_);
  send_all(Leave{view_.number});
  proceed(now);
}

// --- Connections ---------------------------------------------------------------------------------

RankSet Membership::reachable() const {
  RankSet ranks;
  for (std::size_t rank = 0; rank < peers_.size(); ++rank) {
    if (rank == rank_ || !peers_[rank].is_lost) ranks.add(rank);
  }
  return ranks;
}

RankSet Membership::unreachable() const {
  RankSet ranks;
  for (std::size_t rank = 0; rank < peers_.size(); ++rank) {
    if (rank != rank_ && peers_[rank].is_lost) ranks.add(rank);
  }
  return ranks;
}

void Membership::on_heard(const MemberId& from, Time now) {
  if (const auto rank = view_.rank_of(from)) peers_[*rank].heard = now;
}

void Membership::on_connected(const MemberId& id, Time now) {
  if (phase_ == Phase::over) return;
  const auto rank = view_.rank_of(id);
  if (!rank) {
    if (std::ranges::find(strangers_, id) == strangers_.end()) strangers_.push_back(id);
    if (phase_ == Phase::knocking) send(id, Knock{self_, is_ready_, caught_up_});
    return;
  }
  Peer& peer = peers_[*rank];
  peer.is_connected = true;
  peer.is_lost = false;
  peer.heard = now;
  send(id, Alive{view_.number});
  if (leaves_) send(id, Leave{view_.number});
  if (phase_ == Phase::changing) connected_in_change(*rank, now);
}

// It may have missed a message while there was no connection.
void Membership::connected_in_change(std::size_t rank, Time now) {
  const MemberId& id = view_.members[rank].id;
  if (attempt_ && attempt_->proposal) {
    send(id, *attempt_->proposal);
  } else if (attempt_) {
    send(id, attempt_->collect);
  } else {
    send(id, Stop{view_.number, unreachable()});
  }
  report_again(now);
  coordinate_if_due(now);
}

void Membership::on_lost(const MemberId& id, Evidence evidence, Time now, const LastWord* word) {
  if (phase_ == Phase::over) return;
  std::erase(strangers_, id);
  std::erase_if(newcomers_, [&](const Newcomer& newcomer) { return newcomer.member.id == id; });
  if (word != nullptr) note_last_word(*word, now);
  const auto rank = view_.rank_of(id);
  if (!rank || phase_ == Phase::over || phase_ == Phase::knocking) return;
  Peer& peer = peers_[*rank];
  peer.is_connected = false;
  peer.is_lost = true;
  peer.why = evidence == Evidence::ended ? Departure::ended : Departure::closed;
  if (evidence == Evidence::closed) actions_.push_back(ConnectTo{view_.members[*rank]});
  stop(Origin::here, now);
  propose_if_ready(now);
}

// A process that has ended speaks once more: it had moved on, or it had promised something here.
void Membership::note_last_word(const LastWord& word, Time now) {
  if (phase_ == Phase::over) return;
  if (phase_ == Phase::knocking) {
    if (last_words_.size() < kMembersMax) last_words_.push_back(word);  // for its first view
    return;
  }
  const bool moved_on = word.adopted.has_value() && word.adopted->view == view_.number;
  if (moved_on) adopt(*word.adopted, now);
  if (phase_ == Phase::over || !view_.rank_of(word.id)) return;
  if (word.view > view_.number) return end(EndReason::removed);
  const auto is_known = [&](const LastWord& known) { return known.id == word.id; };
  if (std::ranges::any_of(last_words_, is_known)) return;
  last_words_.push_back({word.view, word.id, {}, {}});
  if (word.view == view_.number && word.accepted && word.accepted->decision.view == view_.number) {
    last_words_.back().accepted = word.accepted;
    highest_round_ = std::max(highest_round_, word.accepted->ballot.round);
  }
  Peer& peer = peers_[*view_.rank_of(word.id)];
  peer.is_connected = false;
  peer.is_lost = true;
  peer.why = Departure::ended;
  // An attempt counts only the last words that it began with.
  attempt_.reset();
  next_attempt_ = now;
  stop(Origin::here, now);
}

// --- Time ----------------------------------------------------------------------------------------

void Membership::on_tick(Time now) {
  if (phase_ == Phase::over) return;
  if (now - last_tick_ > options_.silence / 2) {
    // This process was asleep. The others were not: listen before calling them silent.
    for (Peer& peer : peers_) peer.heard = now;
  }
  last_tick_ = now;
  if (phase_ == Phase::knocking) return tick_newcomer(now);
  if (now >= next_alive_) {
    next_alive_ = now + options_.alive_every;
    send_all(Alive{view_.number});
    if (leaves_) send_all(Leave{view_.number});
  }
  check_silence(now);
  if (phase_ == Phase::changing) return tick_change(now);
  proceed(now);
}

void Membership::tick_newcomer(Time now) {
  if (now - knocking_since_ > options_.wait) return end(EndReason::not_admitted);
  if (now < next_retry_) return;
  next_retry_ = now + options_.retry;
  for (const Member& contact : contacts_) actions_.push_back(ConnectTo{contact});
  for (const MemberId& id : strangers_) send(id, Knock{self_, is_ready_, caught_up_});
}

void Membership::on_caught_up(std::uint64_t step, Time now) {
  if (phase_ != Phase::knocking) return;
  is_ready_ = true;
  caught_up_ = step;
  next_retry_ = now;
  tick_newcomer(now);
}

void Membership::check_silence(Time now) {
  bool is_new = false;
  for (std::size_t rank = 0; rank < peers_.size(); ++rank) {
    Peer& peer = peers_[rank];
    if (rank == rank_ || peer.is_lost || now - peer.heard <= options_.silence) continue;
    peer.is_lost = true;
    peer.is_connected = false;
    peer.why = Departure::silent;
    actions_.push_back(CloseConnection{view_.members[rank].id});
    is_new = true;
  }
  if (is_new) stop(Origin::here, now);
}

void Membership::tick_change(Time now) {
  if (now - changing_since_ > options_.wait) return end(EndReason::no_quorum);
  if (now >= next_retry_) {
    next_retry_ = now + options_.retry;
    for (std::size_t rank = 0; rank < peers_.size(); ++rank) {
      if (rank != rank_ && !peers_[rank].is_connected) {
        actions_.push_back(ConnectTo{view_.members[rank]});
      }
    }
    // One of them may be a member of a later view, and knows how this one ended.
    for (const MemberId& id : strangers_) send(id, Alive{view_.number});
  }
  propose_if_ready(now);
  if (attempt_ && now - attempt_->began > 2 * options_.silence) drop_attempt(now);
  coordinate_if_due(now);
}

const char* name(EndReason reason) {
  switch (reason) {
    case EndReason::left:
      return "left";
    case EndReason::removed:
      return "removed";
    case EndReason::no_quorum:
      return "no quorum";
    case EndReason::not_admitted:
      return "not admitted";
    case EndReason::diverged:
      return "diverged";
  }
  return "unknown";
}

}  // namespace gradwire::membership
