#include "tests/simulate/ledger.h"

#include <algorithm>
#include <span>

#include "gradwire/wire/frame.h"

namespace gradwire::simulate {

using membership::Decision;
using membership::Member;
using membership::MemberId;
using membership::View;

std::uint64_t hash_of(const Vector& model) { return checksum(std::as_bytes(std::span(model))); }

void add(Vector& to, const Vector& more, float sign) {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] += sign * more[i];
}

void Ledger::add_process(MemberId id, const Witnessed* process) {
  processes_[id] = process;
  memories_[id] = Vector(kElements, 0);
}

void Ledger::fail(std::string what) {
  if (!violation_) violation_ = std::move(what);
}

void Ledger::on_founded(const View& view) {
  views_[1] = {.view = 0, .next = view};
  chain_[0] = hash_of(model_);
}

void Ledger::on_adopted(const Decision& decision) {
  const auto [entry, is_new] = views_.try_emplace(decision.next.number, decision);
  if (entry->second != decision) {
    fail("split brain: two decisions made view " + std::to_string(decision.next.number));
  }
  if (is_new && decision.step < settled_) {
    fail("step " + std::to_string(settled_) + " is lost: view " +
         std::to_string(decision.next.number) + " begins after step " +
         std::to_string(decision.step));
  }
  check();
}

void Ledger::on_encoded(std::uint64_t world, std::uint64_t step, std::size_t rank,
                        const Vector& gradient, const Vector& sent) {
  gifts_[{step, world}][rank] = {gradient, sent};
}

void Ledger::on_committed(MemberId id, std::uint64_t world, std::uint64_t step,
                          std::uint64_t hash) {
  const auto [entry, is_new] = hashes_.try_emplace({step, world}, hash);
  if (entry->second != hash) {
    fail("two models after step " + std::to_string(step) + " of view " + std::to_string(world));
  }
  // A process that the others have left behind may complete the step that it was at, no other.
  const auto settled = chain_.find(step);
  if (settled != chain_.end() && settled->second != hash && latest().rank_of(id)) {
    fail("a member commits step " + std::to_string(step) + " with another result");
  }
  if (!latest().rank_of(id) && world + 1 < latest().number && step > settled_ + 1) {
    fail("split brain: a process outside of the view goes on to step " + std::to_string(step));
  }
  check();
}

// A step belongs to the run when all living members of the latest view have committed it.
void Ledger::check() {
  if (views_.empty()) return;
  std::vector<MemberId> members;
  std::uint64_t least = ~std::uint64_t{0};
  for (const Member& member : latest().members) {
    const Witnessed& process = *processes_.at(member.id);
    if (!process.is_alive || !process.has_model) continue;
    members.push_back(member.id);
    least = std::min(least, process.committed);
  }
  if (members.empty()) return;
  while (settled_ < least && !violation_) settle(settled_ + 1, members);
}

void Ledger::settle(std::uint64_t step, const std::vector<MemberId>& members) {
  std::optional<std::pair<std::uint64_t, std::uint64_t>> how;  // world, hash
  for (const MemberId& id : members) {
    const auto& history = processes_.at(id)->history;
    const auto entry = history.find(step);
    if (entry == history.end()) continue;  // it has joined later
    if (how && *how != entry->second) {
      return fail("members committed step " + std::to_string(step) + " differently");
    }
    how = entry->second;
  }
  if (!how) return fail("nobody is left who committed step " + std::to_string(step));
  settled_ = step;
  add_to_chain(how->first, step);
  chain_[step] = how->second;
  if (hash_of(model_) != how->second) {
    fail("the model after step " + std::to_string(step) + " is not the sum of what was sent");
  }
  check_conservation(step, members);
}

void Ledger::add_to_chain(std::uint64_t world, std::uint64_t step) {
  const View& view = views_.at(world).next;
  const auto& gifts = gifts_[{step, world}];
  for (std::size_t rank = 0; rank < view.members.size(); ++rank) {
    const auto gift = gifts.find(rank);
    if (gift == gifts.end()) return fail("a step without the gradient of a member");
    Vector& memory = memories_.at(view.members[rank].id);
    add(given_, gift->second.gradient);
    add(model_, gift->second.sent);
    add(memory, gift->second.gradient);
    add(memory, gift->second.sent, -1);
  }
  gifts_.erase(gifts_.begin(), gifts_.lower_bound({step, 0}));
}

// given = model + what living members remember + what was lost with the others.
void Ledger::check_conservation(std::uint64_t step, const std::vector<MemberId>& members) {
  Vector rest = given_;
  add(rest, model_, -1);
  for (const auto& [id, memory] : memories_) {
    const bool is_member = std::ranges::find(members, id) != members.end();
    const Witnessed& process = *processes_.at(id);
    if (!is_member) {
      add(rest, memory, -1);
    } else if (process.committed == step) {
      add(rest, process.error, -1);
    } else {
      add(rest, process.error_before, -1);
    }
  }
  if (std::ranges::any_of(rest, [](float value) { return value != 0; })) {
    fail("gradients of step " + std::to_string(step) + " or before are lost or count twice");
  }
}

void Ledger::on_ended(MemberId id, std::uint64_t settled) {
  const auto& history = processes_.at(id)->history;
  const auto own = history.find(settled);
  const auto others = chain_.find(settled);
  if (own != history.end() && others != chain_.end() && own->second.second != others->second) {
    fail("a process ends with a settled step " + std::to_string(settled) +
         " that is not the run's");
  }
  check();
}

}  // namespace gradwire::simulate
