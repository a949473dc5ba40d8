#include "gradwire/plan/front.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

namespace gradwire::plan {
namespace {

// A way to choose from the layers so far.
struct State {
  double weight = 0;
  double price = 0;
  std::uint32_t parent = 0;  // the state before the last layer that had a choice
  std::uint32_t option = 0;  // what that layer got
};

struct Origin {
  std::uint32_t parent = 0;
  std::uint32_t option = 0;
};

// A front: weights rise and prices fall. Its memory grows only, and stays for the next layer.
class StateList {
 public:
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  State& operator[](std::size_t i) { return room_[i]; }
  const State& operator[](std::size_t i) const { return room_[i]; }
  std::span<State> all() { return std::span(room_).first(size_); }

  void resize(std::size_t size) {
    if (size > room_.size()) room_.resize(size + size / 2);
    size_ = size;
  }

 private:
  std::vector<State> room_;
  std::size_t size_ = 0;
};

// Of equals, the one from `a` stays. No branch depends on the states: half would be mispredicted.
void merge(const StateList& a, const StateList& b, StateList& merged) {
  merged.resize(a.size() + b.size());
  double least = std::numeric_limits<double>::infinity();
  std::size_t i = 0, j = 0, kept = 0;
  const auto keep_if_cheaper = [&](const State& state) {
    merged[kept] = state;
    kept += state.price < least;
    least = std::min(least, state.price);
  };
  while (i < a.size() && j < b.size()) {
    const bool is_a =
        (a[i].weight < b[j].weight) | ((a[i].weight == b[j].weight) & (a[i].price <= b[j].price));
    keep_if_cheaper(is_a ? a[i] : b[j]);
    i += is_a;
    j += !is_a;
  }
  for (; i < a.size(); ++i) keep_if_cheaper(a[i]);
  for (; j < b.size(); ++j) keep_if_cheaper(b[j]);
  merged.resize(kept);
}

// What the layers after one cost at least, by the weight before them; asked for rising weights.
class RestBound {
 public:
  RestBound(std::span<const double> multipliers, std::span<const double> at_zero)
      : multipliers_(multipliers), at_zero_(at_zero) {}

  double operator()(double weight) {
    // The best multiplier rises with the weight.
    while (best_ + 1 < multipliers_.size() && with(best_ + 1, weight) >= with(best_, weight)) {
      ++best_;
    }
    return with(best_, weight);
  }

 private:
  double with(std::size_t i, double weight) const { return at_zero_[i] + multipliers_[i] * weight; }

  std::span<const double> multipliers_;
  std::span<const double> at_zero_;
  std::size_t best_ = 0;
};

class FrontSearch {
 public:
  FrontSearch(const FrontTask& task, const Offer& offer, std::size_t& work)
      : task_(task), offer_(offer), work_(work), improvement_(task.improvement) {
    for (std::size_t layer = 0; layer < task.layers.size(); ++layer) {
      if (task.layers[layer].size() > 1) choices_.push_back(layer);
    }
    origins_.resize(choices_.size());
    bound_rests();
    sum_rests();
  }

  bool run() {
    states_.resize(1);
    std::size_t choice = 0;
    for (const ItemSpan items : task_.layers) {
      if (items.size() == 1) {
        add_to_all(items.front());
        continue;
      }
      if (!add_layer(choice, items)) return false;
      if (states_.empty()) return is_complete_;
      offer_with_picks(choice);
      ++choice;
    }
    offer_cheapest();
    return is_complete_;
  }

 private:
  std::span<const double> multipliers() const { return task_.relaxation.multipliers; }

  // Calls visit(choice) where only the layers after that choice have been visited, and add(layer).
  template <class Visit, class Add>
  void backwards(const Visit& visit, const Add& add) const {
    std::size_t choice = choices_.size();
    for (std::size_t layer = task_.layers.size(); layer-- > 0;) {
      if (choice > 0 && choices_[choice - 1] == layer) visit(--choice);
      add(layer);
    }
  }

  // What sums may be off by is taken off, so that no improvement is lost to rounding.
  void bound_rests() {
    const std::size_t count = multipliers().size();
    const double share = rounding_share(task_.layers.size());
    rest_bounds_.resize(choices_.size() * count);
    for (std::size_t i = 0; i < count; ++i) {
      const double multiplier = multipliers()[i];
      const double paid = multiplier * task_.limit;
      double bound = -paid - share * (improvement_ + paid) - std::numeric_limits<double>::min();
      backwards([&](std::size_t choice) { rest_bounds_[choice * count + i] = bound; },
                [&](std::size_t layer) {
                  double least = std::numeric_limits<double>::infinity();
                  for (const Item& item : task_.layers[layer]) {
                    least = std::min(least, item.price + multiplier * item.weight);
                  }
                  bound += least;
                });
    }
  }

  void sum_rests() {
    double lightest = -rounding_share(task_.layers.size()) * task_.limit;
    Item picked;
    lightest_rests_.resize(choices_.size());
    picked_rests_.resize(choices_.size());
    backwards(
        [&](std::size_t choice) {
          lightest_rests_[choice] = lightest;
          picked_rests_[choice] = picked;
        },
        [&](std::size_t layer) {
          const Item& pick = task_.layers[layer][task_.relaxation.picks[layer]];
          lightest += task_.layers[layer].front().weight;
          picked.weight += pick.weight;
          picked.price += pick.price;
        });
  }

  RestBound rest_bound(std::size_t choice) const {
    const std::size_t count = multipliers().size();
    return {multipliers(), std::span(rest_bounds_).subspan(choice * count, count)};
  }

  void spend(std::size_t work) { work_ -= std::min(work_, work); }

  void add_to_all(const Item& item) {
    for (State& state : states_.all()) {
      state.weight += item.weight;
      state.price += item.price;
    }
    spend(states_.size() / 4);  // there is far less to do than where there is a choice
  }

  // False if there is no work left.
  bool add_layer(std::size_t choice, ItemSpan items) {
    next_.resize(0);
    for (const Item& item : items) {
      const std::size_t looked_at = 2 * states_.size() + next_.size();
      spend(looked_at);
      if (work_ == 0) return false;
      add_item(choice, item);
      if (next_.empty()) {
        std::swap(next_, added_);
      } else {
        merge(next_, added_, merged_);
        std::swap(next_, merged_);
      }
    }
    const bool is_last = choice + 1 == choices_.size();
    if (next_.size() > task_.states_max && !is_last) thin_out(choice);
    std::swap(states_, next_);
    origins_[choice].reserve(states_.size());
    for (const State& state : states_.all()) {
      origins_[choice].push_back({state.parent, state.option});
    }
    return true;
  }

  // added_ = the states with this item, without those that cannot become an improvement that fits.
  void add_item(std::size_t choice, const Item& item) {
    RestBound bound = rest_bound(choice);
    const double weight_max = task_.limit - lightest_rests_[choice];
    std::size_t kept = 0;
    added_.resize(states_.size());
    for (std::size_t i = 0; i < states_.size(); ++i) {
      const double weight = states_[i].weight + item.weight;
      const double price = states_[i].price + item.price;
      if (weight > weight_max) break;
      if (price + bound(weight) > improvement_) continue;
      if (kept > 0) {  // rounding may have made numbers equal
        if (price >= added_[kept - 1].price) continue;
        if (weight <= added_[kept - 1].weight) --kept;
      }
      added_[kept++] = {weight, price, static_cast<std::uint32_t>(i), item.option};
    }
    added_.resize(kept);
  }

  // Of each few neighbours the most promising one stays.
  void thin_out(std::size_t choice) {
    is_complete_ = false;
    const std::size_t neighbours = 2 * next_.size() / task_.states_max + 1;
    RestBound bound = rest_bound(choice);
    std::size_t kept = 0;
    for (std::size_t first = 0; first < next_.size(); first += neighbours) {
      State best = next_[first];
      double least = best.price + bound(best.weight);
      for (std::size_t i = first + 1; i < std::min(first + neighbours, next_.size()); ++i) {
        const double price = next_[i].price + bound(next_[i].weight);
        if (price >= least) continue;
        least = price;
        best = next_[i];
      }
      next_[kept++] = best;
    }
    next_.resize(kept);
  }

  // What a state after so many choices got, and the relaxation's picks for the layers after it.
  std::vector<std::size_t> options_of(std::size_t state, std::size_t choices) const {
    std::vector<std::size_t> options(task_.layers.size());
    for (std::size_t layer = 0; layer < options.size(); ++layer) {
      options[layer] = task_.layers[layer][task_.relaxation.picks[layer]].option;
    }
    while (choices-- > 0) {
      const Origin& origin = origins_[choices][state];
      options[choices_[choices]] = origin.option;
      state = origin.parent;
    }
    return options;
  }

  // With the relaxation's picks for the rest, every state is a choice already. Offers the best one:
  // the sooner an improvement is known, the more can be left out.
  void offer_with_picks(std::size_t choice) {
    const Item& rest = picked_rests_[choice];
    const auto fitting = std::ranges::partition_point(states_.all(), [&](const State& state) {
      return state.weight + rest.weight <= task_.limit;
    });
    const auto count = static_cast<std::size_t>(fitting - states_.all().begin());
    if (count == 0 || states_[count - 1].price + rest.price > improvement_) return;
    spend(task_.layers.size());
    improvement_ = offer_(options_of(count - 1, choice + 1));
  }

  void offer_cheapest() {
    for (std::size_t i = states_.size(); i-- > 0 && states_[i].price <= improvement_;) {
      if (states_[i].weight > task_.limit) continue;
      const double before = std::exchange(improvement_, offer_(options_of(i, choices_.size())));
      if (improvement_ < before) return;
    }
  }

  const FrontTask& task_;
  const Offer& offer_;
  std::size_t& work_;
  double improvement_;
  bool is_complete_ = true;
  std::vector<std::size_t> choices_;  // the layers with more than one item; the rest is by these
  std::vector<double> rest_bounds_;   // of what follows: [choice][multiplier], for weight 0
  std::vector<double> lightest_rests_;
  std::vector<Item> picked_rests_;
  std::vector<std::vector<Origin>> origins_;
  StateList states_, added_, next_, merged_;
};

}  // namespace

bool search_front(const FrontTask& task, const Offer& offer, std::size_t& work) {
  return FrontSearch(task, offer, work).run();
}

}  // namespace gradwire::plan
