// What a member does with each message.
#include <algorithm>

#include "gradwire/membership/membership.h"

namespace gradwire::membership {

void Membership::on_message(const MemberId& from, const Message& message, Time now) {
  if (phase_ == Phase::over) return;
  on_heard(from, now);
  std::visit([&](const auto& content) { on(from, content, now); }, message);
}

// False for messages of another view. Whoever is behind is told how its view has ended.
bool Membership::is_of_view(const MemberId& from, std::uint64_t view) {
  if (phase_ == Phase::knocking) return false;
  const bool is_member = view_.rank_of(from).has_value();
  if (view == view_.number) return is_member;
  if (view + 1 == view_.number && adopted_) {
    send(from, Go{*adopted_});
  } else if (view < view_.number && !is_member) {
    send(from, Removed{view_.number});
  }
  return false;
}

// A member ignores all ballots below the highest one that it has seen.
bool Membership::promise(const MemberId& from, Ballot ballot, Time now) {
  if (view_.rank_of(from) != ballot.rank || ballot.rank == rank_) return false;
  highest_round_ = std::max(highest_round_, ballot.round);
  if (ballot < promised_) {
    send(from, Refuse{view_.number, promised_});
    return false;
  }
  promised_ = ballot;
  attempt_.reset();
  next_attempt_ = now + options_.silence + options_.retry;  // as long as that one may take
  return true;
}

void Membership::on(const MemberId& from, const Alive& alive, Time) {
  is_of_view(from, alive.view);
}

void Membership::on(const MemberId& from, const Stop& message, Time now) {
  if (is_of_view(from, message.view)) stop(Origin::told, now);
}

void Membership::on(const MemberId& from, const Collect& collect, Time now) {
  if (!is_of_view(from, collect.view) || !promise(from, collect.ballot, now)) return;
  reported_ = {};
  if (phase_ == Phase::running && collect.after_step > committed_) {
    finish_step_ = collect.after_step;
  } else {
    stop(Origin::told, now);
  }
}

void Membership::on(const MemberId& from, const Report& report, Time now) {
  if (!is_of_view(from, report.view)) return;
  if (report.accepted && report.accepted->decision.view != view_.number) return;
  for (const LastWord& word : report.last_words) {
    const std::uint64_t view = view_.number;
    if (!ended().has(view_.rank_of(word.id).value_or(kMembersMax))) note_last_word(word, now);
    if (phase_ == Phase::over || view_.number != view) return;
  }
  if (!attempt_ || attempt_->proposal || report.ballot != attempt_->collect.ballot) return;
  attempt_->reports[*view_.rank_of(from)] = report;
  propose_if_ready(now);
}

void Membership::on(const MemberId& from, const Propose& propose, Time now) {
  if (!is_of_view(from, propose.decision.view) || !promise(from, propose.ballot, now)) return;
  accepted_ = Accepted{propose.ballot, propose.decision};
  reported_ = promised_;
  stop(Origin::told, now);
  send(from, Accept{view_.number, propose.ballot});
}

void Membership::on(const MemberId& from, const Accept& accept, Time now) {
  if (!is_of_view(from, accept.view)) return;
  if (!attempt_ || !attempt_->proposal || accept.ballot != attempt_->collect.ballot) return;
  attempt_->accepted_by.add(*view_.rank_of(from));
  go_if_accepted(now);
}

void Membership::on(const MemberId& from, const Refuse& refuse, Time now) {
  if (!is_of_view(from, refuse.view)) return;
  highest_round_ = std::max(highest_round_, refuse.promised.round);
  if (attempt_ && attempt_->collect.ballot < refuse.promised) drop_attempt(now);
}

void Membership::on(const MemberId&, const Go& go, Time now) {
  const bool is_next = phase_ == Phase::knocking ? go.decision.next.rank_of(self_.id).has_value()
                                                 : go.decision.view == view_.number;
  if (is_next) adopt(go.decision, now);
}

void Membership::on(const MemberId&, const Removed& removed, Time) {
  if (phase_ != Phase::knocking && removed.view > view_.number) end(EndReason::removed);
}

// A member without a model has nothing to offer.
void Membership::on(const MemberId& from, const Knock& knock, Time now) {
  if (!may_donate() || knock.member.id != from) return;
  if (view_.rank_of(from)) {
    if (adopted_) send(from, Go{*adopted_});
    return;
  }
  if (knock.is_ready) {
    std::erase_if(newcomers_, [&](const Newcomer& known) { return known.member.id == from; });
    newcomers_.push_back({knock.member, knock.step, now});
  }
  send(from, Welcome{view_, committed_});
}

void Membership::on(const MemberId&, const Welcome& welcome, Time) {
  if (phase_ != Phase::knocking) return;
  if (welcome_ && welcome.view.number < welcome_->view.number) return;
  welcome_ = welcome;
  contacts_ = welcome.view.members;
}

void Membership::on(const MemberId& from, const Leave& leave, Time) {
  if (is_of_view(from, leave.view)) leavers_.add(*view_.rank_of(from));
}

}  // namespace gradwire::membership
