#include "tests/simulate/process.h"

#include <algorithm>
#include <utility>

#include "gradwire/core/check.h"
#include "gradwire/kernel/combine.h"

namespace gradwire::simulate {

using namespace membership;

Process::Process(Surroundings& around, std::uint32_t index, Member self)
    : around_(around),
      index_(index),
      self_(std::move(self)),
      clock_offset_(around.dice.between(0, 1'000'000)),
      clock_permille_(around.dice.between(900, 1100)),
      has_witness_(around.dice.percent(50)) {
  seen_.error = seen_.error_before = Vector(kElements, 0);
  around_.ledger.add_process(self_.id, &seen_);
}

void Process::found(const View& founders) {
  seen_.has_model = true;
  seen_.history[0] = {1, hash_of(model_)};
  member_.emplace(around_.options, self_, founders, hash_of(model_), local_time());
  act();
}

void Process::knock(const std::vector<std::string>& addresses) {
  member_.emplace(around_.options, self_, addresses, local_time());
  act();
}

Time Process::local_time() const {
  return Time(clock_offset_ + around_.network.now() * clock_permille_ / 1000);
}

void Process::trace(const std::string& text) const {
  if (around_.trace) around_.trace(self_.address + ": " + text);
}

// --- Events --------------------------------------------------------------------------------------

void Process::take(const Event& event) {
  switch (event.kind) {
    case Event::Kind::packet: {
      Packet packet = around_.network.take_packet(event);
      receive(event.from, packet);
      break;
    }
    case Event::Kind::computed:
      if (event.generation != compute_number_) return;
      gradient_ = gradient_of(gradient_step_);
      if (is_exchanging_) submit();
      break;
    case Event::Kind::written:
      write();
      break;
    default:
      member_->on_tick(local_time());
      if (catch_up_to_ || member_->view().number == 0) ask_for_model();
      break;
  }
  act();
}

void Process::connected(std::uint32_t peer) {
  member_->on_connected(around_.id_of(peer), local_time());
  act();
  for (auto& [to, frame] : std::exchange(unsent_, {})) send_frame(to, frame);
}

void Process::lost_connection(std::uint32_t peer) {
  around_.network.forget_end(index_, peer);
  trace("loses its connection to " + std::to_string(peer));
  member_->on_lost(around_.id_of(peer), Evidence::closed, local_time());
  act();
}

void Process::send_frame(std::uint32_t to, const FramePacket& frame) {
  if (around_.network.is_open(index_, to)) {
    send(to, frame);
  } else if (frame.key.world == member_->view().number) {
    unsent_.emplace_back(to, frame);
  }
}

void Process::receive(std::uint32_t from, Packet& packet) {
  const MemberId id = around_.id_of(from);
  if (const auto* bytes = std::get_if<std::vector<std::byte>>(&packet)) {
    const Decoded<Message> message = parse_message(*bytes);
    GW_CHECK(message.has_value());
    if (message->index() != 0) {
      trace(std::string("gets ") + name(*message) + " from " + std::to_string(from));
    }
    return member_->on_message(id, *message, local_time());
  }
  if (std::holds_alternative<Closed>(packet)) return lost_connection(from);
  if (const auto* ended = std::get_if<Ended>(&packet)) {
    const Decoded<LastWord> word = parse_last_word(*ended->last_word);
    GW_CHECK(word.has_value());
    around_.network.forget_end(index_, from);
    trace("last word of " + std::to_string(from));
    return member_->on_lost(id, Evidence::ended, local_time(), &*word);
  }
  member_->on_heard(id, local_time());
  if (const auto* frame = std::get_if<FramePacket>(&packet)) receive_frame(*frame);
  if (const auto* request = std::get_if<FetchRequest>(&packet)) answer(from, *request);
  if (const auto* request = std::get_if<ModelRequest>(&packet)) answer(from, *request);
  if (const auto* reply = std::get_if<ModelReply>(&packet)) receive_model(*reply);
}

// Kills the process between any two messages, when its time has come.
void Process::send(std::uint32_t to, Packet packet) {
  if (!seen_.is_alive) return;
  if (sends_left_ && (*sends_left_)-- == 0) return kill(Host::lives);
  around_.network.send(index_, to, std::move(packet));
}

void Process::kill(Host host) {
  if (!seen_.is_alive) return;
  trace(host == Host::lives ? "is killed" : "is killed with its host");
  seen_.is_alive = false;
  was_seen_ending_ = has_witness_ && host == Host::lives;
  const auto word = std::make_shared<const std::vector<std::byte>>(to_bytes(member_->last_word()));
  for (std::uint32_t peer = 0; peer < around_.network.processes(); ++peer) {
    if (peer == index_) continue;
    const auto notice = host == Host::lives ? Network::Notice::tell : Network::Notice::silent;
    around_.network.close(index_, peer, notice);
    if (was_seen_ending_) around_.network.send_unconnected(index_, peer, Ended{word});
  }
}

void Process::leave() {
  trace("wants to leave");
  member_->on_leave(local_time());
  act();
}

// --- Actions -------------------------------------------------------------------------------------

void Process::act() {
  if (is_acting_) return;
  is_acting_ = true;
  for (auto actions = member_->take_actions(); !actions.empty() && seen_.is_alive;
       actions = member_->take_actions()) {
    for (const Action& action : actions) {
      if (!seen_.is_alive) break;
      std::visit([&](const auto& content) { perform(content); }, action);
    }
  }
  is_acting_ = false;
  if (!member_->is_changing()) frozen_since_ = around_.network.now();
}

void Process::perform(const SendMessage& action) {
  send(around_.process_of({action.to, ""}), to_bytes(action.message));
}

void Process::perform(const ConnectTo& action) {
  around_.network.connect(index_, around_.process_of(action.member));
}

void Process::perform(const CloseConnection& action) {
  trace("closes its connection to " + std::to_string(around_.process_of({action.id, ""})));
  around_.network.close(index_, around_.process_of({action.id, ""}), Network::Notice::tell);
}

void Process::perform(const AdoptView& action) {
  const Decision& decision = action.decision;
  if (around_.trace) {
    std::string text = "adopts view " + std::to_string(decision.next.number) + " of";
    for (const Member& member : decision.next.members) text += " " + member.address;
    text += " after step " + std::to_string(decision.step);
    if (!decision.sources.empty()) text += ", fetching";
    trace(text);
  }
  around_.ledger.on_adopted(decision);
  std::erase_if(early_,
                [&](const FramePacket& frame) { return frame.key.world < decision.next.number; });
}

void Process::perform(const BeginStep& action) {
  const View& view = member_->view();
  current_.emplace(around_.codecs, around_.route, action.view, action.step, member_->rank(),
                   view.members.size());
  is_exchanging_ = true;
  if (gradient_step_ == action.step && !gradient_.empty()) {
    // The step was begun before: the gradient must be what it was.
    if (gradient_ != gradient_of(action.step)) around_.ledger.fail("a held gradient has changed");
    return submit();
  }
  if (gradient_step_ == action.step) return;  // still computing
  gradient_step_ = action.step;
  gradient_.clear();
  around_.network.schedule(
      around_.dice.between(50, 250),
      {.kind = Event::Kind::computed, .to = index_, .generation = ++compute_number_});
}

void Process::perform(const StopStep&) { is_exchanging_ = false; }

void Process::perform(const AbortStep& action) {
  trace("aborts step " + std::to_string(action.step));
  is_exchanging_ = false;
  current_.reset();
}

void Process::perform(const CommitStep&) {
  is_exchanging_ = false;
  const Clock delay = write_delay_ > 0 ? write_delay_ : around_.dice.between(0, 2);
  write_delay_ = 0;
  around_.network.schedule(delay, {.kind = Event::Kind::written, .to = index_});
}

void Process::perform(const FetchFrame& action) {
  const auto rank = static_cast<std::uint32_t>(action.rank);
  trace("fetches the frame of rank " + std::to_string(rank));
  send(around_.process_of({action.from, ""}), FetchRequest{action.world, action.step, rank});
}

void Process::perform(const CatchUp& action) {
  catch_up_to_ = action.step;
  ask_for_model();
}

void Process::perform(const Wait&) { trace("has no quorum"); }

void Process::perform(const End& action) {
  trace(std::string("ends: ") + name(action.reason));
  ended_ = action.reason;
  seen_.is_alive = false;
  around_.ledger.on_ended(self_.id, action.settled);
  for (std::uint32_t peer = 0; peer < around_.network.processes(); ++peer) {
    around_.network.close(index_, peer, Network::Notice::tell);
  }
}

// --- Steps ---------------------------------------------------------------------------------------

// Small integers, so that every sum of them is exact.
Vector Process::gradient_of(std::uint64_t step) const {
  Vector gradient(kElements);
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < kElements; ++i) {
    if (i % 8 == 0) bits = scramble(self_.id.high ^ scramble(step * kElements + i));
    gradient[i] = static_cast<float>(static_cast<int>(bits >> (i % 8 * 8) & 15) - 7);
  }
  return gradient;
}

void Process::submit() {
  Vector values(kElements);
  kernel::combine(1, gradient_, 1, seen_.error, values);
  current_->encode(values);
  const std::uint64_t world = current_->world();
  const std::uint64_t step = current_->step();
  around_.ledger.on_encoded(world, step, member_->rank(), gradient_, current_->sent());
  const auto own = static_cast<std::uint32_t>(member_->rank());
  const bool is_gather = around_.route == Route::gather;
  const FrameKey key{world, step, own, is_gather ? Direction::hop : Direction::up};
  for (std::uint32_t rank = 0; rank < member_->view().members.size() && seen_.is_alive; ++rank) {
    if (rank == own) continue;
    send_frame(around_.process_of(member_->view().members[rank]),
               FramePacket{key, current_->frame_for(rank)});
  }
  const Bytes frame = current_->frame_for(own);
  take_frame(key, frame);
  for (const FramePacket& early : std::exchange(early_, {})) receive_frame(early);
}

void Process::send_others(const FrameKey& key, const Bytes& frame) {
  for (const Member& member : member_->view().members) {
    if (member.id != self_.id) send_frame(around_.process_of(member), FramePacket{key, frame});
  }
}

// A frame that the step under way can use, or keeps until its step begins.
void Process::receive_frame(const FramePacket& frame) {
  const FrameKey& key = frame.key;
  const bool is_current =
      current_ && current_->world() == key.world && current_->step() == key.step;
  if (is_current && (current_->has_encoded() || !is_exchanging_)) {
    take_frame(key, frame.bytes);
  } else if (key.world >= member_->view().number) {
    early_.push_back(frame);
  }
}

void Process::take_frame(const FrameKey& key, const Bytes& bytes) {
  if (key.direction == Direction::up) {
    if (!is_exchanging_) return;
    const Bytes result = current_->take_up(key.rank, bytes);
    if (!result) return;
    const FrameKey own{key.world, key.step, static_cast<std::uint32_t>(member_->rank()),
                       Direction::down};
    send_others(own, result);
    return take_frame(own, result);
  }
  if (!current_->take_result(key.rank, bytes))
    around_.ledger.fail("a frame is not the expected one");
  member_->on_frame(key.world, key.step, key.rank);
}

// The only place where results and memories are written.
void Process::write() {
  GW_CHECK(current_.has_value());
  const auto sum = current_->sum();
  if (!sum || !current_->has_encoded()) return around_.ledger.fail("a commit without all frames");
  const std::uint64_t step = current_->step();
  add(model_, *sum);
  gradient_ = *sum;
  seen_.error_before = std::exchange(seen_.error, current_->error());
  seen_.committed = step;
  const std::uint64_t hash = hash_of(model_);
  if (!seen_.history.try_emplace(step, current_->world(), hash).second) {
    around_.ledger.fail("step " + std::to_string(step) + " is committed twice");
  }
  last_world_ = current_->world();
  last_frames_.clear();
  for (std::size_t rank = 0; rank < current_->ranks(); ++rank) {
    last_frames_.push_back(current_->result(rank));
  }
  trace("commits step " + std::to_string(step) + " of view " + std::to_string(last_world_));
  current_.reset();
  member_->on_committed(step, hash, local_time());
  around_.ledger.on_committed(self_.id, last_world_, step, hash);
}

void Process::answer(std::uint32_t from, const FetchRequest& request) {
  const FrameKey key{request.world, request.step, request.rank,
                     around_.route == Route::gather ? Direction::hop : Direction::down};
  if (current_ && current_->world() == request.world && current_->step() == request.step) {
    if (current_->result(request.rank))
      send(from, FramePacket{key, current_->result(request.rank)});
  } else if (last_world_ == request.world && seen_.committed == request.step &&
             request.rank < last_frames_.size()) {
    send(from, FramePacket{key, last_frames_[request.rank]});
  }
}

// --- Joining -------------------------------------------------------------------------------------

void Process::ask_for_model() {
  const View* view = &member_->view();
  if (view->number == 0 && member_->welcome()) view = &member_->welcome()->view;
  std::vector<std::uint32_t> donors;
  for (const Member& member : view->members) {
    const std::uint32_t peer = around_.process_of(member);
    if (peer != index_ && around_.network.is_open(index_, peer)) donors.push_back(peer);
  }
  if (!donors.empty()) send(around_.dice.pick(donors), ModelRequest{catch_up_to_.value_or(0)});
}

void Process::answer(std::uint32_t from, const ModelRequest& request) {
  if (!member_->may_donate() || seen_.committed < request.least_step) return;
  send(from, ModelReply{seen_.committed, last_world_, std::make_shared<const Vector>(model_),
                        last_frames_});
}

void Process::receive_model(const ModelReply& reply) {
  const bool is_knocking = member_->view().number == 0;
  if (!is_knocking && reply.step != catch_up_to_) return;
  if (!is_knocking && member_->is_changing()) return;
  model_ = *reply.model;
  last_world_ = reply.world;
  last_frames_ = reply.frames;
  seen_.committed = reply.step;
  if (is_knocking) return member_->on_caught_up(reply.step, local_time());
  catch_up_to_.reset();
  seen_.has_model = true;
  const std::uint64_t hash = hash_of(model_);
  seen_.history[reply.step] = {last_world_, hash};
  trace("has caught up to step " + std::to_string(reply.step));
  member_->on_committed(reply.step, hash, local_time());
  around_.ledger.check();
}

}  // namespace gradwire::simulate
