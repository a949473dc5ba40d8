#include "tests/simulate/simulation.h"

#include <algorithm>

#include "gradwire/membership/quorum.h"

namespace gradwire::simulate {
namespace {

using membership::Member;
using membership::Membership;
using membership::RankSet;
using membership::Time;
using membership::View;

constexpr std::size_t kProcessesMax = 16;  // that live at the same time
constexpr Clock kTick = 50;
constexpr Clock kFaultsEnd = 14'000;
constexpr Clock kWait = 14'000;
constexpr Clock kRecovery = 7'000;  // after the last fault the group trains again within this
constexpr Clock kEnd = kFaultsEnd + 2 * kWait;
constexpr Clock kCutMost = 3'500;

membership::Options options() {
  return {.silence = Time(800),
          .alive_every = Time(250),
          .retry = Time(100),
          .reconnect_grace = Time(100),
          .wait = Time(kWait),
          .members_least = 1,
          .join_lag = 3};
}

class Simulation {
 public:
  Simulation(std::uint64_t seed, const TraceLine& trace)
      : dice_(seed),
        network_(scramble(seed)),
        around_{.network = network_,
                .ledger = ledger_,
                .codecs = codecs_,
                .dice = dice_,
                .route = dice_.percent(50) ? Route::gather : Route::scatter,
                .options = options(),
                .process_of = [this](const Member& member) { return process_of(member); },
                .id_of = [this](std::uint32_t index) { return processes_[index]->self().id; },
                .trace = {}} {
    if (trace) {
      around_.trace = [this, trace](const std::string& text) {
        trace(std::to_string(network_.now()) + " ms  " + text);
      };
    }
  }

  Outcome run() {
    found();
    plan_faults();
    Event event;
    while (!ledger_.violation() && network_.next(event) && event.at < kEnd) {
      ++outcome_.events;
      happen(event);
      if (network_.now() >= kFaultsEnd && !is_quiet_) begin_quiet();
      if (network_.now() >= kFaultsEnd + kRecovery && is_quiet_ && !is_checked_) check_recovery();
      if (is_checked_ && is_settled()) break;
    }
    if (!ledger_.violation() && !is_settled()) ledger_.fail("a process neither goes on nor ends");
    outcome_.violation = ledger_.violation();
    outcome_.steps = ledger_.settled();
    outcome_.views = ledger_.latest().number;
    outcome_.goes_on = is_recovered_;
    return outcome_;
  }

 private:
  // --- Processes ---------------------------------------------------------------------------------

  Process& add_process() {
    const auto index = static_cast<std::uint32_t>(processes_.size());
    const Member self{{dice_.next(), index + 1}, "p" + std::to_string(index)};
    network_.add_process();
    processes_.push_back(std::make_unique<Process>(around_, index, self));
    tick_later(index);
    return *processes_.back();
  }

  // By id, or by the address if only that is known.
  std::uint32_t process_of(const Member& member) const {
    if (member.id.low != 0) return static_cast<std::uint32_t>(member.id.low - 1);
    return static_cast<std::uint32_t>(std::stoul(member.address.substr(1)));
  }

  void found() {
    outcome_.founders = 2 + dice_.below(kProcessesMax - 1);
    View founders{.number = 1, .members = {}};
    for (std::size_t i = 0; i < outcome_.founders; ++i) {
      founders.members.push_back(add_process().self());
    }
    ledger_.on_founded(founders);
    for (auto& process : processes_) process->found(founders);
  }

  void join() {
    std::vector<std::string> addresses;
    for (const std::uint32_t index : living()) {
      if (addresses.size() < 3 || dice_.percent(30)) addresses.push_back(at(index).self().address);
    }
    if (addresses.empty() || living().size() >= kProcessesMax) return;
    Process& process = add_process();
    say("p" + std::to_string(processes_.size() - 1) + " knocks");
    process.knock(addresses);
  }

  Process& at(std::uint32_t index) { return *processes_[index]; }

  std::vector<std::uint32_t> living() const {
    std::vector<std::uint32_t> indices;
    for (std::uint32_t i = 0; i < processes_.size(); ++i) {
      if (processes_[i]->is_alive()) indices.push_back(i);
    }
    return indices;
  }
  bool nobody_lives() const { return living().empty(); }

  void tick_later(std::uint32_t index) {
    network_.schedule(kTick, {.kind = Event::Kind::tick, .to = index});
  }

  // --- Events ------------------------------------------------------------------------------------

  void happen(const Event& event) {
    if (event.kind == Event::Kind::fault) return planned_[event.generation]();
    Process& process = at(event.to);
    if (event.kind == Event::Kind::connect) return connect(event.to, event.from);
    if (event.kind == Event::Kind::packet) {
      if (!process.is_alive()) {
        network_.take_packet(event);
        return;
      }
      if (process.is_paused()) return network_.again(event, process.paused_until());
      if (!network_.arrives(event)) return;
      return process.take(event);
    }
    if (!process.is_alive()) return;
    if (process.is_paused()) return network_.again(event, process.paused_until());
    if (event.kind == Event::Kind::tick) tick_later(event.to);
    process.take(event);
  }

  void connect(std::uint32_t from, std::uint32_t to) {
    const auto can = [&](std::uint32_t index) {
      return at(index).is_alive() && !at(index).is_paused();
    };
    const bool is_possible = can(from) && can(to) && network_.can_connect(from, to);
    // The other end may not know yet that the old connection is gone.
    if (is_possible && network_.is_open(to, from) && !network_.is_open(from, to)) {
      at(to).lost_connection(from);
    }
    if (!network_.establish(from, to, is_possible)) return;
    at(from).connected(to);
    if (at(to).is_alive()) at(to).connected(from);
  }

  // --- Faults ------------------------------------------------------------------------------------

  void say(const std::string& text) const {
    if (around_.trace) around_.trace("FAULT " + text);
  }

  void plan(Clock when, std::function<void()> what) {
    network_.schedule(when - network_.now(),
                      {.kind = Event::Kind::fault, .generation = planned_.size()});
    planned_.push_back(std::move(what));
  }

  void plan_faults() {
    const std::size_t count = 10 + dice_.below(6);
    Clock when = 0;
    for (std::size_t i = 0; i < count; ++i) {
      // Often two at once, or close together.
      const bool at_once = i > 0 && dice_.percent(35);
      when = at_once ? std::min(when + dice_.between(0, 30), kFaultsEnd - 1)
                     : dice_.between(200, kFaultsEnd - 1);
      plan(when, [this] { fault(); });
    }
    // Newcomers are no faults. They keep the group from dying out.
    const std::size_t joins = dice_.below(count + 4);
    for (std::size_t i = 0; i < joins; ++i) {
      plan(dice_.between(0, kFaultsEnd - 1), [this] { join(); });
    }
  }

  void fault() {
    if (nobody_lives()) return;
    ++outcome_.faults;
    const std::uint32_t victim = dice_.pick(living());
    switch (dice_.below(12)) {
      case 0:
        return at(victim).kill(Process::Host::lives);
      case 1:
        return at(victim).kill(Process::Host::lost);
      case 2:
        say("p" + std::to_string(victim) + " will be killed between two messages");
        return at(victim).kill_after_sends(dice_.below(60));
      case 3:
        return kill_coordinator();
      case 4:
        return break_connections(victim);
      case 5:
        return cut_network(Cut::silent);
      case 6:
        return cut_network(Cut::resets);
      case 7:
        return cut_one_way();
      case 8:
        return cut_off(victim);
      case 9:
        say("p" + std::to_string(victim) + " stops for a while");
        return at(victim).pause(std::min(kFaultsEnd, network_.now() + dice_.between(100, 3000)));
      case 10:
        say("p" + std::to_string(victim) + " has a slow disk");
        return at(victim).slow_disk(dice_.between(50, 2500));
      default:
        return at(victim).leave();
    }
  }

  // In the middle of a change, if there is one.
  void kill_coordinator() {
    std::vector<std::uint32_t> coordinators;
    for (const std::uint32_t index : living()) {
      const Membership& member = at(index).member();
      if (member.view().number == ledger_.latest().number && member.is_changing()) {
        coordinators.push_back(index);
      }
    }
    if (!coordinators.empty()) {
      return at(coordinators.front()).kill_after_sends(dice_.below(20));
    }
    // Or in the one that another loss begins.
    const auto lowest = living().front();
    say("p" + std::to_string(lowest) + " will be killed in the next change");
    at(lowest).kill_after_sends(dice_.below(40));
    if (living().size() > 1) at(dice_.pick(living())).kill(Process::Host::lives);
  }

  void break_connections(std::uint32_t victim) {
    for (const std::uint32_t peer : living()) {
      if (peer == victim || dice_.percent(60) || !network_.is_open(victim, peer)) continue;
      network_.close(victim, peer, Network::Notice::tell);
      at(victim).lost_connection(peer);
      if (!at(victim).is_alive()) return;
    }
  }

  void cut_for_a_while(const std::vector<std::pair<std::uint32_t, std::uint32_t>>& pairs) {
    for (const auto& [from, to] : pairs) network_.cut(from, to);
    const Clock until = std::min(kFaultsEnd, network_.now() + dice_.between(50, kCutMost));
    plan(until, [this, pairs] {
      for (const auto& [from, to] : pairs) network_.heal(from, to);
    });
  }

  enum class Cut { silent, resets };

  // Two parts. A firewall in between may reset the connections, in the name of hosts that live.
  void cut_network(Cut cut) {
    std::vector<bool> side(processes_.size());
    for (std::size_t i = 0; i < side.size(); ++i) side[i] = dice_.percent(50);
    say(cut == Cut::silent ? "the network is cut" : "the network is cut with resets");
    std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs;
    for (std::uint32_t a = 0; a < side.size(); ++a) {
      for (std::uint32_t b = 0; b < side.size(); ++b) {
        if (side[a] == side[b]) continue;
        pairs.emplace_back(a, b);
        if (cut != Cut::resets || !at(a).is_alive() || !network_.is_open(a, b)) continue;
        at(a).lost_connection(b);
      }
    }
    cut_for_a_while(pairs);
  }

  void cut_one_way() {
    const std::uint32_t from = dice_.pick(living());
    const std::uint32_t to = dice_.pick(living());
    if (from == to) return;
    say("nothing gets from p" + std::to_string(from) + " to p" + std::to_string(to));
    cut_for_a_while({{from, to}});
  }

  // One process hears nobody, or nobody hears it.
  void cut_off(std::uint32_t victim) {
    const bool is_deaf = dice_.percent(50);
    say("p" + std::to_string(victim) + (is_deaf ? " is deaf" : " is mute"));
    std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs;
    for (std::uint32_t peer = 0; peer < processes_.size(); ++peer) {
      if (peer == victim) continue;
      pairs.emplace_back(is_deaf ? peer : victim, is_deaf ? victim : peer);
    }
    cut_for_a_while(pairs);
  }

  // --- Afterwards --------------------------------------------------------------------------------

  // Whether the latest view's living members can go on. One of them must have adopted it: if all
  // that have are dead, nobody alive knows the view.
  bool has_quorum() const {
    const View& view = ledger_.latest();
    RankSet living, ended;
    bool any_model = false;
    bool is_known = false;
    for (std::size_t rank = 0; rank < view.members.size(); ++rank) {
      const std::uint32_t index = process_of(view.members[rank]);
      const Process& process = *processes_[index];
      if (process.is_alive()) living.add(rank);
      is_known |= process.is_alive() && is_member(index);
      if (process.was_seen_ending()) ended.add(rank);
      any_model |= process.is_alive() && process.seen().has_model;
    }
    return any_model && is_known && membership::is_quorum(view.members.size(), living, ended);
  }

  // Nobody is about to give up.
  bool has_time() const {
    return std::ranges::none_of(ledger_.latest().members, [&](const Member& member) {
      const Process& process = *processes_[process_of(member)];
      return process.is_alive() && network_.now() - process.frozen_since() > kWait / 4;
    });
  }

  void begin_quiet() {
    is_quiet_ = true;
    network_.heal_all();
    for (const std::uint32_t index : living()) {
      at(index).never_die();
    }
    must_recover_ = outcome_.must_go_on = has_quorum() && has_time();
    settled_before_ = ledger_.settled();
    if (around_.trace) {
      around_.trace(must_recover_ ? "QUIET: the group must go on" : "QUIET: it may end");
    }
  }

  bool is_member(std::uint32_t index) const {
    return processes_[index]->member().view().number == ledger_.latest().number;
  }

  // A process that knows no member any more cannot find the run. It ends at its deadline.
  bool knows_a_member(std::uint32_t index) const {
    return std::ranges::any_of(ledger_.latest().members, [&](const Member& member) {
      return network_.is_open(index, process_of(member));
    });
  }

  // Everybody who knows a member is one, newcomers too, and they train.
  bool trains() const {
    const auto is_outside = [&](std::uint32_t index) {
      return !is_member(index) && knows_a_member(index);
    };
    return std::ranges::none_of(living(), is_outside) && ledger_.settled() > settled_before_ + 2;
  }

  // Everybody trains or has ended.
  bool is_settled() const {
    return nobody_lives() ||
           (is_recovered_ &&
            std::ranges::all_of(living(), [&](std::uint32_t index) { return is_member(index); }));
  }

  void check_recovery() {
    is_checked_ = true;
    is_recovered_ = trains();
    // An unfinished change may have ended in a view without a quorum.
    if (must_recover_ && !is_recovered_ && has_quorum()) {
      ledger_.fail("no progress after the last fault");
    }
  }

  Dice dice_;
  Network network_;
  Ledger ledger_;
  Codecs codecs_;
  Surroundings around_;
  std::vector<std::unique_ptr<Process>> processes_;
  std::vector<std::function<void()>> planned_;
  Outcome outcome_;
  bool is_quiet_ = false;
  bool must_recover_ = false;
  bool is_checked_ = false;
  bool is_recovered_ = false;
  std::uint64_t settled_before_ = 0;
};

}  // namespace

Outcome simulate(std::uint64_t seed, const TraceLine& trace) {
  return Simulation(seed, trace).run();
}

}  // namespace gradwire::simulate
