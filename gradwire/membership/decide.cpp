#include "gradwire/membership/decide.h"

#include <algorithm>
#include <map>

#include "gradwire/core/check.h"

namespace gradwire::membership {
namespace {

class Deciding {
 public:
  explicit Deciding(const Situation& situation) : s_(situation), why_(situation.reasons) {
    for (std::size_t rank = 0; rank < s_.reports.size(); ++rank) {
      if (s_.reports[rank]) stays_.add(rank);
    }
  }

  std::optional<Decision> decide() {
    drop_diverged();
    drop_disconnected();
    if (!has_model(stays_)) return std::nullopt;
    Decision decision{.view = s_.view.number};
    const Fate fate = fate_of_step();
    // Who comes or goes in order does so between steps, when nobody has to fetch frames.
    if (fate.holders.empty()) drop_leavers();
    fill_members(decision, fate.holders.empty());
    decision.step = fate.step;
    if (!fate.holders.empty()) fill_sources(decision, fate);
    return decision;
  }

  RankSet disconnected() const {
    RankSet ranks;
    for (std::size_t a = 0; a < s_.reports.size(); ++a) {
      for (std::size_t b = 0; b < a; ++b) {
        if (!is_broken(a, b)) continue;
        ranks.add(a);
        ranks.add(b);
      }
    }
    return ranks;
  }

 private:
  // The last step of the view, and if somebody lacks it, the members that hold each frame of it.
  struct Fate {
    std::uint64_t step = 0;
    std::uint64_t world = 0;
    std::vector<RankSet> holders = {};
  };

  const Report& report(std::size_t rank) const { return *s_.reports[rank]; }

  template <class Visit>
  void each(const RankSet& set, const Visit& visit) const {
    for (std::size_t rank = 0; rank < s_.reports.size(); ++rank) {
      if (set.has(rank)) visit(rank);
    }
  }

  bool has_model(const RankSet& set) const {
    bool any = false;
    each(set, [&](std::size_t rank) { any |= !report(rank).is_fresh; });
    return any;
  }

  void drop(std::size_t rank, Departure why) {
    stays_.remove(rank);
    why_[rank] = why;
  }

  // Two models after the same step are a bug or a broken memory. The model of most members is
  // right.
  void drop_diverged() {
    std::map<std::uint64_t, std::map<std::uint64_t, RankSet>> by_step;  // step, hash, ranks
    each(stays_, [&](std::size_t rank) {
      if (!report(rank).is_fresh) by_step[report(rank).committed][report(rank).hash].add(rank);
    });
    for (const auto& [step, by_hash] : by_step) {
      const auto most = std::ranges::max_element(
          by_hash, {}, [](const auto& entry) { return entry.second.count(); });
      for (const auto& [hash, ranks] : by_hash) {
        if (hash == most->first) continue;
        each(ranks, [&](std::size_t rank) { drop(rank, Departure::diverged); });
      }
    }
  }

  bool is_broken(std::size_t a, std::size_t b) const {
    return stays_.has(a) && stays_.has(b) &&
           (report(a).unreachable.has(b) || report(b).unreachable.has(a));
  }

  // Of two members that cannot reach each other one has to go: the one with more such pairs, and
  // of equals the later one.
  void drop_disconnected() {
    while (true) {
      std::size_t worst = 0;
      std::size_t most_pairs = 0;
      each(stays_, [&](std::size_t rank) {
        std::size_t pairs = 0;
        each(stays_, [&](std::size_t other) { pairs += other != rank && is_broken(rank, other); });
        if (pairs > 0 && pairs >= most_pairs) {
          worst = rank;
          most_pairs = pairs;
        }
      });
      if (most_pairs == 0) return;
      drop(worst, Departure::unreachable);
    }
  }

  // Members are at most one step apart: nobody commits a step without everybody's frames of it, and
  // nobody sends these before it has committed the step before.
  Fate fate_of_step() const {
    std::uint64_t least = ~std::uint64_t{0};
    std::uint64_t most = 0;
    std::size_t behind = 0;
    each(stays_, [&](std::size_t rank) {
      if (report(rank).is_fresh) return;
      if (report(rank).committed < least) behind = rank;
      least = std::min(least, report(rank).committed);
      most = std::max(most, report(rank).committed);
    });
    Fate fate{.step = least + 1, .world = report(behind).world};
    fate.holders.resize(report(behind).world_size);
    each(stays_, [&](std::size_t rank) {
      if (report(rank).is_fresh) return;
      const bool has_all = report(rank).committed > least;
      if (!has_all && report(rank).world != fate.world) return;
      for (std::size_t frame = 0; frame < fate.holders.size(); ++frame) {
        if (has_all || report(rank).held.has(frame)) fate.holders[frame].add(rank);
      }
    });
    const auto is_missing = [](const RankSet& holders) { return holders.empty(); };
    if (fate.holders.empty() || std::ranges::any_of(fate.holders, is_missing)) {
      return {.step = least};
    }
    return fate;
  }

  // The last member with a model stays while somebody needs it.
  void drop_leavers() {
    RankSet rest = stays_;
    each(s_.leavers & stays_, [&](std::size_t rank) { rest.remove(rank); });
    const bool nobody_stays = rest.empty() && s_.newcomers.empty();
    if (!nobody_stays && !has_model(rest)) return;
    each(s_.leavers & stays_, [&](std::size_t rank) { drop(rank, Departure::left); });
  }

  void fill_members(Decision& decision, bool admits) const {
    View& next = decision.next;
    next.number = s_.view.number + 1;
    for (std::size_t rank = 0; rank < s_.view.members.size(); ++rank) {
      if (stays_.has(rank)) {
        next.members.push_back(s_.view.members[rank]);
      } else {
        decision.departed.push_back({s_.view.members[rank].id, why_[rank]});
      }
    }
    if (!admits) return;
    for (const Member& newcomer : s_.newcomers) {
      if (next.members.size() == kMembersMax) return;
      if (!next.rank_of(newcomer.id)) next.members.push_back(newcomer);
    }
  }

  // Holders share the work.
  void fill_sources(Decision& decision, const Fate& fate) const {
    decision.world = fate.world;
    for (std::size_t frame = 0; frame < fate.holders.size(); ++frame) {
      std::vector<std::uint16_t> ranks;
      each(fate.holders[frame], [&](std::size_t rank) {
        const auto next_rank = decision.next.rank_of(s_.view.members[rank].id);
        GW_CHECK(next_rank.has_value());
        ranks.push_back(static_cast<std::uint16_t>(*next_rank));
      });
      decision.sources.push_back(ranks[frame % ranks.size()]);
    }
  }

  const Situation& s_;
  std::vector<Departure> why_;
  RankSet stays_;
};

}  // namespace

RankSet disconnected(const Situation& situation) { return Deciding(situation).disconnected(); }

std::optional<Decision> decide(const Situation& situation) { return Deciding(situation).decide(); }

}  // namespace gradwire::membership
