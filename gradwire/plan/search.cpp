#include "gradwire/plan/search.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "gradwire/plan/buckets.h"
#include "gradwire/plan/front.h"
#include "gradwire/plan/price_steps.h"
#include "gradwire/plan/relaxation.h"

namespace gradwire::plan {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Keeps the best choice so far, and what is left of the layers to make a better one of. In turns,
// the best one gets better, and less is left.
class Search {
 public:
  Search(std::span<const std::vector<Option>> layers, double limit, const SearchEffort& effort)
      : layers_(layers), limit_(limit), effort_(effort), work_(effort.work), left_(layers.size()) {
    for (std::size_t layer = 0; layer < layers.size(); ++layer) {
      const std::vector<Option>& options = layers[layer];
      work_ += effort.work_per_option * options.size();
      left_[layer].reserve(options.size());
      for (std::uint32_t i = 0; i < options.size(); ++i) {
        left_[layer].push_back({options[i].weight, options[i].price, i});
      }
      keep_undominated(left_[layer]);
    }
  }

  Choice run(std::span<const std::size_t> reference) {
    best_ = total_of(layers_, options_of(std::vector<std::size_t>(left_.size())));
    if (!(best_.weight <= limit_)) return best_;
    if (!reference.empty()) offer({reference.begin(), reference.end()});
    drop_what_never_fits();
    best_.is_exact = take_cheapest() || search_exactly() || search_in_buckets();
    return best_;
  }

 private:
  // Of positions in what is left.
  std::vector<std::size_t> options_of(const std::vector<std::size_t>& picks) const {
    std::vector<std::size_t> options(picks.size());
    for (std::size_t layer = 0; layer < picks.size(); ++layer) {
      options[layer] = left_[layer][picks[layer]].option;
    }
    return options;
  }

  std::vector<ItemSpan> left() const { return {left_.begin(), left_.end()}; }

  // The highest price that is an improvement.
  double improvement() const { return steps_.below(best_.price); }

  double offer(std::vector<std::size_t> options) {
    Choice choice = total_of(layers_, std::move(options));
    if (choice.weight <= limit_ && choice.price < best_.price) best_ = std::move(choice);
    return improvement();
  }

  void drop_what_never_fits() {
    double room = limit_ * (1 + rounding_share(left_.size()));
    for (const Items& items : left_) room -= items.front().weight;
    for (Items& items : left_) {
      const double lightest = items.front().weight;
      std::erase_if(items, [&](const Item& item) { return item.weight - lightest > room; });
    }
  }

  // True if the cheapest of each layer fits.
  bool take_cheapest() {
    std::vector<std::size_t> picks;
    for (const Items& items : left_) picks.push_back(items.size() - 1);
    Choice cheapest = total_of(layers_, options_of(picks));
    if (!(cheapest.weight <= limit_)) return false;
    best_ = std::move(cheapest);
    return true;
  }

  // True if the best choice is exact.
  bool search_exactly() {
    constexpr std::size_t kGrowth = 12;  // small fronts first: they improve the best choice cheaply
    std::size_t states = std::max<std::size_t>(effort_.states / (kGrowth * kGrowth), 1);
    steps_ = price_steps(left_);
    Relaxation relaxation = relax(left(), limit_);
    change_layers(relaxation.picks);
    change_layers(relaxation.over);
    while (drop_by_bounds(relaxation)) {
      steps_ = price_steps(left_);
      relaxation = relax(left(), limit_);
      const double before = best_.price;
      if (run_front(left(), limit_, relaxation, states, work_)) return true;
      if (work_ == 0) return false;
      if (best_.price < before) continue;
      if (states == effort_.states) return false;
      states = std::min(states * kGrowth, effort_.states);
    }
    return true;
  }

  // Changes one layer after the other: always the one that makes the total cheapest while it fits.
  void change_layers(std::vector<std::size_t> picks) {
    constexpr int kChanges = 8;
    double weight = 0;
    for (std::size_t layer = 0; layer < left_.size(); ++layer) {
      weight += left_[layer][picks[layer]].weight;
    }
    for (int change = 0; change < kChanges; ++change) {
      const double room = limit_ - weight;
      double least = room < 0 ? kInfinity : 0;
      std::size_t best_layer = left_.size(), best_pick = 0;
      for (std::size_t layer = 0; layer < left_.size(); ++layer) {
        const Item& from = left_[layer][picks[layer]];
        for (std::size_t pick = 0; pick < left_[layer].size(); ++pick) {
          const Item& to = left_[layer][pick];
          if (to.weight - from.weight > room || to.price - from.price >= least) continue;
          least = to.price - from.price;
          best_layer = layer;
          best_pick = pick;
        }
      }
      if (best_layer == left_.size()) break;
      weight += left_[best_layer][best_pick].weight - left_[best_layer][picks[best_layer]].weight;
      picks[best_layer] = best_pick;
    }
    offer(options_of(picks));
  }

  // False if nothing better can be left.
  bool drop_by_bounds(const Relaxation& relaxation) {
    if (!drop_by_bound(relaxation.multiplier)) return false;  // leaves little to do for the others
    return std::ranges::all_of(relaxation.multipliers,
                               [this](double multiplier) { return drop_by_bound(multiplier); });
  }

  // Drops items that are in no improvement, since even a relaxed choice with them costs too much.
  bool drop_by_bound(double multiplier) {
    std::vector<double> least(left_.size());
    const double bound = lower_bound(multiplier, limit_, least);
    const double price_max = improvement();
    bool is_possible = true;
    for (std::size_t layer = 0; layer < left_.size(); ++layer) {
      work_ -= std::min(work_, left_[layer].size());
      std::erase_if(left_[layer], [&](const Item& item) {
        return bound + (item.price + multiplier * item.weight - least[layer]) > price_max;
      });
      is_possible = is_possible && !left_[layer].empty();
    }
    return is_possible;
  }

  // Of the price of what is left, within a limit; `least` gets each layer's part. What sums may be
  // off by is taken off.
  double lower_bound(double multiplier, double limit, std::vector<double>& least) const {
    double sum = 0;
    for (std::size_t layer = 0; layer < left_.size(); ++layer) {
      least[layer] = kInfinity;
      for (const Item& item : left_[layer]) {
        least[layer] = std::min(least[layer], item.price + multiplier * item.weight);
      }
      sum += least[layer];
    }
    const double paid = multiplier * limit_;
    return sum - multiplier * limit - rounding_share(left_.size()) * (best_.price + paid) -
           std::numeric_limits<double>::min();
  }

  bool run_front(std::span<const ItemSpan> layers, double limit, const Relaxation& relaxation,
                 std::size_t states_max, std::size_t& work) {
    const FrontTask task = {.layers = layers,
                            .limit = limit,
                            .relaxation = relaxation,
                            .improvement = improvement(),
                            .states_max = states_max};
    return search_front(
        task, [this](const auto& options) { return offer(options); }, work);
  }

  // True if the best choice turns out to be exact.
  bool search_in_buckets() {
    std::vector<double> anchor(left_.size());
    for (std::size_t layer = 0; layer < left_.size(); ++layer) {
      anchor[layer] = layers_[layer][best_.options[layer]].weight;
    }
    const Bucketed bucketed = put_into_buckets(left(), limit_, anchor, effort_.buckets);
    if (std::ranges::any_of(bucketed.layers, [](const Items& items) { return items.empty(); })) {
      return false;
    }
    const std::vector<ItemSpan> layers(bucketed.layers.begin(), bucketed.layers.end());
    std::size_t work = is_as_good_as(bucketed) ? work_ : std::numeric_limits<std::size_t>::max();
    run_front(layers, bucketed.limit, relax(layers, bucketed.limit),
              std::numeric_limits<std::size_t>::max(), work);
    return !drop_by_bounds(relax(left(), limit_));
  }

  // True if the best choice is already within what buckets promise, the optimum for a lower limit:
  // then they only get the work that is left. Large problems end here: their relaxation is tight.
  bool is_as_good_as(const Bucketed& bucketed) const {
    const auto choices =
        std::ranges::count_if(left_, [](const Items& items) { return items.size() > 1; });
    const double limit = limit_ - static_cast<double>(choices) * bucketed.bucket_weight;
    std::vector<double> least(left_.size());
    return std::ranges::any_of(relax(left(), limit_).multipliers, [&](double multiplier) {
      return best_.price <= lower_bound(multiplier, limit, least);
    });
  }

  std::span<const std::vector<Option>> layers_;
  double limit_;
  SearchEffort effort_;
  std::size_t work_;
  std::vector<Items> left_;
  PriceSteps steps_;
  Choice best_;
};

}  // namespace

Choice search(std::span<const std::vector<Option>> layers, double limit,
              std::span<const std::size_t> reference, const SearchEffort& effort) {
  return Search(layers, limit, effort).run(reference);
}

Choice total_of(std::span<const std::vector<Option>> layers, std::vector<std::size_t> options) {
  Choice choice;
  for (std::size_t layer = 0; layer < options.size(); ++layer) {
    choice.weight += layers[layer][options[layer]].weight;
    choice.price += layers[layer][options[layer]].price;
  }
  choice.options = std::move(options);
  return choice;
}

}  // namespace gradwire::plan
