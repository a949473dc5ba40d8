#include "gradwire/method/lgreco/layer_planner.h"

#include <cmath>
#include <cstdio>
#include <utility>

#include "gradwire/kernel/sums.h"

namespace gradwire {
namespace {

// Of larger layers as much as this tells enough about the rest.
constexpr std::size_t kSampleElements = std::size_t{1} << 16;

constexpr const char* kPromised = "promised error";

std::vector<std::string> names_of(const std::vector<MethodTensor>& tensors,
                                  std::span<const std::size_t> layers) {
  std::vector<std::string> names;
  for (const std::size_t tensor : layers) names.push_back(tensors[tensor].name);
  return names;
}

}  // namespace

LayerPlanner::LayerPlanner(Communicator& communicator, const Setup& setup)
    : rank_(communicator.rank()),
      lgreco_(setup.lgreco),
      tensors_(setup.tensors),
      layers_(setup.layers),
      topology_(setup.topology),
      seed_(setup.options.seed),
      groups_(find_groups(tensors_, layers_, setup.options.group_elements)),
      experience_(names_of(tensors_, layers_)),
      phases_(lgreco_.accordion ? lgreco_.accordion->threshold : 0),
      agreement_(communicator, layers_.size(), lgreco_.candidates.all.size(), setup.options) {
  if (!lgreco_.accordion) return;
  Candidates candidates = lgreco_.candidates;
  low_ = index_of(lgreco_.accordion->low, candidates);
  high_ = index_of(lgreco_.accordion->high, candidates);
}

CostOptions LayerPlanner::cost_options(std::uint64_t step, std::size_t tensor) const {
  return {.sample_elements = kSampleElements,
          .rng = {.seed = seed_,
                  .step = step,
                  .tensor = Rng::tensor_id(tensors_[tensor].name),
                  .rank = static_cast<std::uint32_t>(rank_)}};
}

std::string LayerPlanner::check_promise(const View& view) {
  const std::size_t layers = layers_.size();
  std::vector<double> numbers(2 * layers);  // errors, then norms
  for (std::size_t i = 0; i < layers; ++i) {
    const std::size_t tensor = layers_[i];
    const CandidateCost cost =
        measure_cost(tensors_[tensor], view.values[i], lgreco_.candidates.all[view.choices[i]],
                     cost_options(view.step, tensor));
    numbers[i] = std::sqrt(cost.squared_error);
    numbers[layers + i] = std::sqrt(kernel::moments(view.values[i]).squares);
  }
  if (!agreement_.share(view.step, numbers)) return "";
  double error = 0;
  double norm = 0;
  for (std::size_t i = 0; i < layers; ++i) {
    const double squared_norm = numbers[layers + i] * numbers[layers + i];
    error += layer_error(lgreco_.measure, lgreco_.candidates.all[view.choices[i]],
                         {.squared_error = numbers[i] * numbers[i]}, squared_norm);
    norm += layer_norm(lgreco_.measure, squared_norm);
  }
  const double measured = norm > 0 ? error / norm : 0;
  const bool is_kept =
      measured <= *promised_ * lgreco_.guard && measured * lgreco_.guard >= *promised_;
  if (is_kept) return "";
  char text[160];
  std::snprintf(text, sizeof text,
                "A new plan: the error is %.3g of the gradient where %.3g was promised, more than "
                "%.3g times off.",
                measured, *promised_, lgreco_.guard);
  return text;
}

std::vector<LayerCosts> LayerPlanner::measure(const View& view) const {
  std::vector<LayerCosts> costs;
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    costs.push_back({measure_costs(tensors_[layers_[i]], view.values[i], lgreco_.candidates,
                                   cost_options(view.step, layers_[i])),
                     kernel::moments(view.values[i]).squares});
  }
  return costs;
}

// What each candidate's exchange takes here.
void LayerPlanner::measure_link(const View& view, std::vector<LayerCosts>& costs, PlanNote& note) {
  const PlanAgreement::Link link = agreement_.probe(view.step, topology_);
  std::vector<double> compute = {view.compute_seconds};
  agreement_.share(view.step, compute);
  for (LayerCosts& layer : costs) {
    for (auto& cost : layer.by_candidate) {
      // The owner of a part reads what came, and writes and reads what goes down.
      if (cost) cost->seconds = 2 * cost->seconds + cost->bytes / link.bytes_per_second;
    }
  }
  note.budget = {.compute_seconds = compute[0],
                 .bytes_per_second = link.bytes_per_second,
                 .latency_seconds = link.latency_seconds,
                 .groups = groups_.groups};
}

std::optional<std::vector<std::size_t>> LayerPlanner::accordion_choices(
    const View& view, std::span<const LayerCosts> costs, PlanNote& note) {
  if (!lgreco_.accordion) return std::nullopt;
  std::vector<double> norms(view.norms.begin(), view.norms.end());
  if (!agreement_.share(view.step, norms)) return std::nullopt;
  const std::vector<bool> critical = phases_.look(norms);
  std::vector<std::size_t> choices;
  std::size_t high = 0;
  for (std::size_t i = 0; i < critical.size(); ++i) {
    const std::size_t wanted = critical[i] ? high_ : low_;
    choices.push_back(costs[i].by_candidate[wanted] ? wanted : 0);
    high += critical[i] ? 1 : 0;
  }
  note.reason += " Accordion has " + std::to_string(high) + " of " +
                 std::to_string(critical.size()) + " layers at its high setting.";
  return choices;
}

// As rank 0 does it, for all.
std::vector<std::size_t> LayerPlanner::choose(const View& view, const PlanOptions& options,
                                              std::vector<LayerCosts>& costs, PlanNote& note) {
  const bool is_first = rank_ == 0;
  std::vector<std::size_t> choices(costs.size());
  if (!lgreco_.has_time_budget) {
    if (is_first) choices = plan_layers(lgreco_.candidates, costs, options).choices;
    return agreement_.hear(view.step, std::move(choices));
  }
  measure_link(view, costs, note);
  PlanNote::Budget& measured = *note.budget;
  const TimeBudget budget = find_budget(groups_, measured);
  if (is_first) {
    choices = plan_in_time(lgreco_.candidates, costs, lgreco_.measure, groups_, budget);
  }
  choices = agreement_.hear(view.step, std::move(choices));
  const TimeBudget taken = exchange_seconds(costs, choices, groups_);
  measured.hidden_room_seconds = budget.hidden_seconds;
  measured.hidden_seconds = taken.hidden_seconds;
  measured.visible_seconds = measured.latency_seconds + taken.last_seconds;
  if (taken.hidden_seconds > budget.hidden_seconds || taken.last_seconds > budget.last_seconds) {
    note.reason += " Not all of it can be as quick as it should: what cannot is the quickest.";
  }
  return choices;
}

std::optional<std::vector<std::size_t>> LayerPlanner::plan(const View& view, PlanNote& note) {
  std::vector<LayerCosts> costs = measure(view);
  if (!agreement_.share(view.step, costs)) {
    note.reason = "No new plan: the gradients are not finite, or too large for low rank.";
    return std::nullopt;
  }
  PlanOptions options{.measure = lgreco_.measure, .alpha = lgreco_.alpha};
  if (auto reference = accordion_choices(view, costs, note)) {
    options.reference = std::move(*reference);
  }
  std::vector<std::size_t> choices = options.reference;
  if (!lgreco_.is_accordion || choices.empty()) {
    experience_.apply(lgreco_.candidates, lgreco_.measure, view.choices, costs);
    choices = choose(view, options, costs, note);
  }
  const LayerPlan plan = price(lgreco_.candidates, costs, options, std::move(choices));
  experience_.note(lgreco_.candidates, lgreco_.measure, plan.choices, costs);
  promised_ = plan.relative_error();
  describe(plan, costs, note);
  return plan.choices;
}

void LayerPlanner::describe(const LayerPlan& plan, std::span<const LayerCosts> costs,
                            PlanNote& note) const {
  note.bytes = plan.bytes;
  note.uniform_bytes = plan.uniform_bytes;
  note.error = plan.relative_error();
  note.uniform_error = plan.norm > 0 ? plan.uniform_error / plan.norm : 0;
  std::size_t layer = 0;
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    PlanNote::Layer& line = note.layers.emplace_back();
    line = {.name = tensors_[i].name,
            .elements = tensors_[i].elements(),
            .choice = "none",
            .bytes = static_cast<double>(tensors_[i].elements() * sizeof(float))};
    if (layer == layers_.size() || layers_[layer] != i) continue;
    const CandidateCost& cost = *costs[layer].by_candidate[plan.choices[layer]];
    const double norm = costs[layer].squared_norm;
    line.choice = lgreco_.candidates.all[plan.choices[layer]].spec;
    line.bytes = cost.bytes;
    line.error = norm > 0 ? std::sqrt(cost.squared_error / norm) : 0;
    ++layer;
  }
}

void LayerPlanner::save(MethodState& state) const {
  if (promised_) state.numbers[kPromised] = *promised_;
  experience_.save(state);
  phases_.save(names_of(tensors_, layers_), state);
}

void LayerPlanner::load(const MethodState& state) {
  const auto promised = state.numbers.find(kPromised);
  promised_ = promised != state.numbers.end() ? std::optional(promised->second) : std::nullopt;
  experience_.load(state);
  phases_.load(names_of(tensors_, layers_), state);
}

}  // namespace gradwire
