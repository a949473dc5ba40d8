// What the loop does with packets, and for the membership.
#include <algorithm>
#include <utility>

#include "gradwire/elastic/member_loop.h"
#include "gradwire/wire/frame.h"

namespace gradwire::elastic {

using namespace membership;

// --- Packets -------------------------------------------------------------------------------------

// False: the connection is not read any further now.
bool MemberLoop::handle(Connection& connection, Packet packet) {
  if (is_over_) return false;
  if (std::holds_alternative<Describe>(packet)) {
    connection.send(to_bytes(Description{options_.description}));
    return true;
  }
  if (const auto* introduce = std::get_if<Introduce>(&packet)) {
    introduced(connection, introduce->member);
    return true;
  }
  if (!connection.peer) {
    close(connection);
    return false;
  }
  const MemberId from = connection.peer->id;
  member_->on_heard(from, now());
  if (const auto* message = std::get_if<MessagePacket>(&packet)) {
    member_->on_message(from, message->message, now());
  } else if (auto* data = std::get_if<ViewData>(&packet)) {
    on_data(from, std::move(*data));
  } else if (const auto* fetch = std::get_if<FetchResult>(&packet)) {
    on_fetch(from, *fetch);
  } else if (const auto* result = std::get_if<Result>(&packet)) {
    on_result_packet(from, *result);
  } else if (const auto* ask = std::get_if<AskModel>(&packet)) {
    on_ask_model(from, *ask);
  } else if (const auto* keep = std::get_if<KeepModel>(&packet)) {
    on_keep_model(*keep);
  } else if (const auto* manifest = std::get_if<Manifest>(&packet)) {
    fetcher_.on_manifest(from, *manifest);
  } else if (const auto* ask_chunk = std::get_if<AskChunk>(&packet)) {
    donor_.on_ask_chunk(from, *ask_chunk, now(), send_);
  } else if (auto* chunk = std::get_if<Chunk>(&packet)) {
    fetcher_.on_chunk(from, std::move(*chunk));
    fetcher_.tick(donors(), now(), send_);  // the next one
  } else if (const auto* ask_updates = std::get_if<AskUpdates>(&packet)) {
    if (member_->may_donate()) donor_.on_ask_updates(from, *ask_updates, now());
  } else if (auto* update = std::get_if<Update>(&packet)) {
    fetcher_.on_update(std::move(*update), now());
    tick_joining();
  } else if (const auto* forgotten = std::get_if<Forgotten>(&packet)) {
    fetcher_.on_forgotten(from, *forgotten);
  }
  return true;
}

// One connection between two processes. If both have made one at the same time, that of the lower
// id stays; otherwise whoever connects again has lost the old one.
void MemberLoop::introduced(Connection& connection, const Member& member) {
  if (connection.peer || member.id == self_.id) return close(connection);
  connection.peer = member;
  if (Connection* const old = find(member.id)) {
    const bool keeps_old = old->role() == Channel::Role::connects &&
                           connection.role() == Channel::Role::accepts && self_.id < member.id;
    if (keeps_old) return close(connection);
    by_id_.erase(member.id);
    close(*old);
    donor_.forget(member.id);
    fetcher_.on_lost(member.id);
    member_->on_lost(member.id, Evidence::closed, now());
  }
  by_id_[member.id] = &connection;
  member_->on_connected(member.id, now());
  for (Bytes& bytes : std::exchange(unsent_[member.id], {})) connection.send(std::move(bytes));
}

// Two newcomers of a view may not be connected yet when its first exchange begins. Their messages
// wait, since nobody would send them again.
void MemberLoop::send_data(const MemberId& to, Bytes bytes) {
  if (find(to)) return send(to, std::move(bytes));
  if (member_->view().rank_of(to)) unsent_[to].push_back(std::move(bytes));
}

// Frames of views that are not adopted yet wait; those of older ones are dropped.
void MemberLoop::on_data(const MemberId& from, ViewData data) {
  const View& view = member_->view();
  if (data.view > view.number) {
    constexpr std::size_t kEarlyMax = 1 << 16;
    if (early_.size() < kEarlyMax) early_.emplace_back(from, std::move(data));
    return;
  }
  const auto rank = view.rank_of(from);
  if (data.view != view.number || !rank || !mail_) return;
  if (mail_->deliver(*rank, data.tag, data.bytes)) return;
  if (Connection* const connection = find(from)) close(*connection);
}

void MemberLoop::on_fetch(const MemberId& from, const FetchResult& fetch) {
  const auto& [world, step, rank] = fetch;
  if (running_ && running_->world.number == world && running_->step == step) {
    if (rank >= running_->results.size() || !running_->results[rank]) return;
    return send(from, to_bytes(Result{world, step, rank, *running_->results[rank]}));
  }
  const bool is_last =
      last_update_ && last_update_->step == step && last_update_->world.number == world;
  if (!is_last || rank >= last_update_->results.size()) return;
  send(from, to_bytes(Result{world, step, rank, last_update_->results[rank]}));
}

void MemberLoop::on_result_packet(const MemberId& from, const Result& result) {
  if (!running_ || running_->world.number != result.world || running_->step != result.step) return;
  if (result.rank >= running_->results.size()) return;
  const bool is_asked = std::ranges::any_of(
      fetches_, [&](const Fetch& fetch) { return fetch.frame.rank == result.rank; });
  if (!is_asked && !listens()) return;
  std::vector<std::span<const std::byte>> frames;
  for (std::span<const std::byte> rest = result.frames; !rest.empty();) {
    const auto frame = parse_frame(rest);
    if (!frame) {
      // A result that was asked for is asked for again. One that came by itself comes only once.
      if (Connection* const connection = is_asked ? nullptr : find(from)) close(*connection);
      return;
    }
    frames.push_back(rest.first(frame->bytes()));
    rest = rest.subspan(frame->bytes());
  }
  if (!listens()) return running_->mail->give_results(result.rank, result_lane_, frames);
  if (!running_->results[result.rank]) take_result(result.rank, result.frames);
}

// --- Donating ------------------------------------------------------------------------------------

void MemberLoop::on_ask_model(const MemberId& from, const AskModel& ask) {
  if (!member_->may_donate()) return;
  const Manifest* const manifest =
      ask.is_any ? donor_.fresh_manifest(now()) : donor_.manifest_of(ask.step);
  if (manifest != nullptr) return send(from, to_bytes(*manifest));
  if (!ask.is_any) return;
  if (std::ranges::find(askers_, from) == askers_.end()) askers_.push_back(from);
  // Several donors need the same step: the next one, which none of them has committed long ago.
  const std::uint64_t step = member_->committed() + (running_ ? 1 : 0);
  {
    const std::lock_guard lock(mutex_);
    if (save_at_) return;
  }
  on_keep_model({step});
  for (const Member& member : member_->view().members) {
    if (member.id != self_.id) send(member.id, to_bytes(KeepModel{step}));
  }
  if (options_.on_event) {
    options_.on_event({.kind = ElasticEvent::Kind::donating,
                       .view = member_->view(),
                       .step = step,
                       .text = "a newcomer asks for the model; it gets the one after step " +
                               std::to_string(step)});
  }
}

void MemberLoop::on_keep_model(const KeepModel& keep) {
  if (!member_->may_donate() || keep.step < member_->committed()) return;
  const std::lock_guard lock(mutex_);
  save_at_ = keep.step;
  changed_.notify_all();
}

// Steps that all members have committed, or that were decided, stay as they are.
std::uint64_t MemberLoop::certain_step() const {
  const std::uint64_t committed = member_->committed();
  const std::uint64_t settled = committed > 0 ? committed - 1 : 0;
  return std::min(committed, std::max(settled, decided_step_));
}

std::vector<MemberId> MemberLoop::donors() const {
  const View* view = &member_->view();
  if (view->number == 0 && member_->welcome()) view = &member_->welcome()->view;
  std::vector<MemberId> ids;
  for (const Member& member : view->members) {
    if (member.id != self_.id && by_id_.contains(member.id)) ids.push_back(member.id);
  }
  return ids;
}

// --- Actions -------------------------------------------------------------------------------------

void MemberLoop::act() {
  for (auto actions = member_->take_actions(); !actions.empty();
       actions = member_->take_actions()) {
    for (const Action& action : actions) {
      if (is_over_) return;
      std::visit([&](const auto& content) { perform(content); }, action);
    }
  }
}

void MemberLoop::perform(const SendMessage& action) {
  send(action.to, to_bytes(MessagePacket{action.message}));
}

// Of two members the one with the lower id connects, so that there is one connection. A newcomer
// always does: nobody knows it.
void MemberLoop::perform(const ConnectTo& action) {
  const Member& member = action.member;
  if (member.id == self_.id || member.address == self_.address || find(member.id)) return;
  const bool is_known = member.id != MemberId{};
  const bool is_newcomer = member_->view().number == 0;
  if (!is_known && is_newcomer) {
    // It may be connected already, under an id that the membership does not know.
    for (const auto& [id, connection] : by_id_) {
      if (connection->peer->address == member.address) return;
    }
  }
  if (is_newcomer || self_.id < member.id) hub_.connect(member.address);
}

void MemberLoop::perform(const CloseConnection& action) {
  Connection* const connection = find(action.id);
  if (connection == nullptr) return;
  by_id_.erase(action.id);
  donor_.forget(action.id);
  fetcher_.on_lost(action.id);
  close(*connection);
}

void MemberLoop::make_mail() {
  const View view = member_->view();
  std::vector<std::string> addresses;
  for (const Member& member : view.members) addresses.push_back(member.address);
  // Called by the exchange's thread; the loop sends.
  auto deliver = [this, view](std::size_t rank, std::uint32_t tag,
                              std::span<const std::byte> bytes) {
    post([this, to = view.members[rank].id,
          packet = view_data_bytes(view.number, tag, bytes)]() mutable {
      send_data(to, std::move(packet));
    });
  };
  mail_ = std::make_shared<ViewMail>(member_->rank(), std::move(addresses), std::move(deliver));
  for (auto& [from, data] : std::exchange(early_, {})) {
    if (data.view >= view.number) on_data(from, std::move(data));
  }
}

void MemberLoop::perform(const AdoptView& action) {
  const Decision& decision = action.decision;
  departures_ += decision.departed.size();
  decided_step_ = decision.step;
  if (mail_ && (!running_ || running_->mail != mail_)) mail_->end();
  unsent_.clear();
  make_mail();
  if (!options_.on_event) return;
  ElasticEvent event{.kind = ElasticEvent::Kind::view,
                     .view = decision.next,
                     .departed = decision.departed,
                     .step = decision.step,
                     .change_seconds = now() - changing_since_,
                     .text = "view " + std::to_string(decision.next.number) + " of " +
                             std::to_string(decision.next.members.size()) +
                             " members, after step " + std::to_string(decision.step)};
  for (const Departed& departed : decision.departed) {
    event.text += std::string("; one departed: ") + name(departed.why);
  }
  options_.on_event(event);
}

void MemberLoop::perform(const BeginStep& action) {
  const View& view = member_->view();
  if (action.view != view.number) return;  // a later action ends this step already
  running_ = Running{.step = action.step,
                     .world = view,
                     .mail = mail_,
                     .results = std::vector<std::optional<Bytes>>(view.members.size())};
  const std::lock_guard lock(mutex_);
  verdict_ = {.view = action.view, .step = action.step};
  begin_ = BeginWork{.step = action.step,
                     .view = view,
                     .rank = member_->rank(),
                     .mail = mail_,
                     .departures = departures_};
  changed_.notify_all();
}

void MemberLoop::perform(const StopStep&) {
  if (running_) running_->mail->stop();
  const std::lock_guard lock(mutex_);
  begin_.reset();
}

void MemberLoop::perform(const AbortStep&) {
  fetches_.clear();
  const std::lock_guard lock(mutex_);
  begin_.reset();
  if (!running_) return;
  running_->mail->end();
  running_.reset();
  verdict_ = {};
  changed_.notify_all();
}

void MemberLoop::perform(const CommitStep& action) {
  fetches_.clear();
  const std::lock_guard lock(mutex_);
  begin_.reset();
  const bool is_running = verdict_.view == action.world && verdict_.step == action.step;
  verdict_ = {.view = action.world,
              .step = action.step,
              .is_commit = true,
              .results = is_running ? verdict_.results : nullptr};
  changed_.notify_all();
}

void MemberLoop::perform(const FetchFrame& action) {
  const bool is_here = running_ && running_->world.number == action.world &&
                       running_->step == action.step && action.rank < running_->results.size() &&
                       running_->results[action.rank];
  // It came while the view changed, when no frame counted. The exchange does not take it twice.
  if (is_here) return member_->on_frame(action.world, action.step, action.rank);
  fetches_.push_back({action, {}});
}

void MemberLoop::perform(const CatchUp& action) {
  catch_up_to_ = action.step;
  catching_up_since_ = now();
  finish_catch_up();
}

void MemberLoop::perform(const Wait&) {
  if (!options_.on_event) return;
  options_.on_event({.kind = ElasticEvent::Kind::waiting,
                     .view = member_->view(),
                     .step = member_->committed(),
                     .text = "too few members of the view answer: waiting for them"});
}

void MemberLoop::perform(const End& action) {
  static constexpr const char* kTexts[] = {
      "this process left the run", "the others went on without this process",
      "too few members of the view answered within the deadline",
      "no member admitted this process within the deadline",
      "the model here is not that of the others"};
  std::string text = kTexts[static_cast<std::size_t>(action.reason)];
  const bool is_alone = action.reason == EndReason::not_admitted && !hub_.last_failure().empty();
  if (is_alone) text += " (" + hub_.last_failure() + ")";
  say_over(action.reason, action.settled, std::move(text));
}

// --- Catching up ---------------------------------------------------------------------------------

// What was replayed counts: for a newcomer that knocks, how far it is; for a member without a
// model, that it has one.
void MemberLoop::finish_catch_up() {
  if (!replayed_ || !is_loaded_) return;
  if (member_->view().number == 0) return member_->on_caught_up(*replayed_, now());
  if (catch_up_to_ != replayed_) return;
  member_->on_committed(*replayed_, replayed_hash_, now());
  if (!member_->may_donate()) return;  // the view changes: there will be another call
  catch_up_to_.reset();
  const std::lock_guard lock(mutex_);
  is_member_ = true;
  changed_.notify_all();
}

std::uint64_t MemberLoop::hash_with(std::uint64_t model_hash) const {
  return model_hash == 0 ? chain_ : checksum(std::as_bytes(std::span(&model_hash, 1)), chain_);
}

}  // namespace gradwire::elastic
