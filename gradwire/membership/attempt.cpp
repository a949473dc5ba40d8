// A coordinator's attempt to end the view: collect reports, propose a decision, say go.
#include <algorithm>

#include "gradwire/membership/decide.h"
#include "gradwire/membership/membership.h"
#include "gradwire/membership/quorum.h"

namespace gradwire::membership {

std::size_t Membership::living_before() const {
  const RankSet living = reachable();
  std::size_t count = 0;
  for (std::size_t rank = 0; rank < rank_; ++rank) count += living.has(rank);
  return count;
}

RankSet Membership::ended() const {
  RankSet ranks;
  for (const LastWord& word : last_words_) {
    if (const auto rank = view_.rank_of(word.id)) ranks.add(*rank);
  }
  return ranks;
}

std::vector<Member> Membership::ready_newcomers(Time now) const {
  std::vector<Member> ready;
  for (const Newcomer& newcomer : newcomers_) {
    const bool is_close = newcomer.step + options_.join_lag >= committed_;
    if (is_close && now - newcomer.heard <= options_.silence) ready.push_back(newcomer.member);
  }
  return ready;
}

bool Membership::wants_change(Time now) const {
  if (!leavers_.empty()) return true;
  return view_.members.size() < kMembersMax && !ready_newcomers(now).empty();
}

// The lowest rank that lives coordinates. The next one takes over where that leads to nothing: the
// lowest may be heard without hearing.
void Membership::coordinate_if_due(Time now) {
  if (phase_ != Phase::changing || attempt_) return;
  const RankSet living = reachable();
  if (now < next_attempt_ && living.has(promised_.rank)) return;
  if (!is_quorum(view_.members.size(), living, ended())) {
    if (!said_wait_) actions_.push_back(Wait{});
    said_wait_ = true;
    return;
  }
  const auto before = static_cast<Time::rep>(living_before());
  if (now - changing_since_ < before * takeover()) return;
  begin_attempt(0, now);
}

void Membership::begin_attempt(std::uint64_t after_step, Time now) {
  promised_ = {++highest_round_, static_cast<std::uint32_t>(rank_)};
  attempt_.emplace();
  attempt_->collect = {view_.number, promised_, after_step};
  attempt_->began = now;
  attempt_->reports.resize(view_.members.size());
  send_all(attempt_->collect);
  report_if_due(now);
}

void Membership::drop_attempt(Time now) {
  attempt_.reset();
  next_attempt_ = now + options_.retry + static_cast<Time::rep>(living_before()) * takeover();
}

// When everybody who can be reached has reported, or a quorum has and the rest is late.
void Membership::propose_if_ready(Time now) {
  if (!attempt_ || attempt_->proposal || !attempt_->reports[rank_]) return;
  RankSet reported;
  for (std::size_t rank = 0; rank < attempt_->reports.size(); ++rank) {
    if (attempt_->reports[rank]) reported.add(rank);
  }
  const bool is_late = now - attempt_->began >= options_.silence;
  if (!reported.includes(reachable()) && !is_late) return;
  if (!is_quorum(view_.members.size(), reported, ended())) {
    if (is_late) drop_attempt(now);
    return;
  }
  if (const auto decision = accepted_before(reported)) return propose(*decision, now);

  std::vector<Departure> reasons;
  for (const Peer& peer : peers_) reasons.push_back(peer.why);
  const std::vector<Member> newcomers = ready_newcomers(now);
  RankSet leavers = leavers_;
  for (std::size_t rank = 0; rank < attempt_->reports.size(); ++rank) {
    if (attempt_->reports[rank] && attempt_->reports[rank]->leaves) leavers.add(rank);
  }
  const Situation situation{view_, attempt_->reports, reasons, newcomers, leavers};
  // Two members that live may connect again.
  const bool in_grace = now - attempt_->began < options_.reconnect_grace;
  if (in_grace && !disconnected(situation).empty()) return;
  if (const auto decision = decide(situation)) {
    propose(*decision, now);
  } else {
    drop_attempt(now);
  }
}

// The decision that may have been made already: it must be proposed again. It has not been made if
// too few members can have accepted any.
std::optional<Decision> Membership::accepted_before(const RankSet& reported) const {
  RankSet may_have_accepted;
  const Accepted* last = nullptr;
  const auto consider = [&](std::size_t rank, const std::optional<Accepted>& accepted) {
    if (!accepted) return;
    may_have_accepted.add(rank);
    if (last == nullptr || accepted->ballot > last->ballot) last = &*accepted;
  };
  const RankSet has_ended = ended();
  for (std::size_t rank = 0; rank < view_.members.size(); ++rank) {
    if (reported.has(rank)) {
      consider(rank, attempt_->reports[rank]->accepted);
    } else if (!has_ended.has(rank)) {
      may_have_accepted.add(rank);
    }
  }
  for (const LastWord& word : last_words_) consider(*view_.rank_of(word.id), word.accepted);
  const bool is_possible = is_quorum(view_.members.size(), may_have_accepted, has_ended);
  if (last == nullptr || !is_possible) return std::nullopt;
  return last->decision;
}

void Membership::propose(const Decision& decision, Time now) {
  attempt_->proposal = Propose{attempt_->collect.ballot, decision};
  accepted_ = Accepted{attempt_->collect.ballot, decision};
  attempt_->accepted_by.add(rank_);
  send_all(*attempt_->proposal);
  go_if_accepted(now);
}

void Membership::go_if_accepted(Time now) {
  if (!is_quorum(view_.members.size(), attempt_->accepted_by, ended())) return;
  const Go go{attempt_->proposal->decision};
  send_all(go);
  for (const Member& member : go.decision.next.members) {
    if (!view_.rank_of(member.id)) send(member.id, go);
  }
  adopt(go.decision, now);
}

}  // namespace gradwire::membership
