#include "gradwire/method/lgreco.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <optional>
#include <utility>

#include "gradwire/codec/spec.h"
#include "gradwire/core/check.h"
#include "gradwire/core/error.h"
#include "gradwire/kernel/sums.h"
#include "gradwire/method/layer_experience.h"
#include "gradwire/method/layer_method.h"
#include "gradwire/method/layer_watch.h"
#include "gradwire/method/plan_council.h"
#include "gradwire/method/plan_note.h"
#include "gradwire/method/step_order.h"
#include "gradwire/method/time_budget.h"
#include "gradwire/wire/frame.h"

namespace gradwire {
namespace {

// Of larger layers as much as this tells enough about the rest.
constexpr std::size_t kSampleElements = std::size_t{1} << 16;
// Between two plans the guard looks this often.
constexpr std::size_t kChecksPerPeriod = 4;

std::vector<std::size_t> planned_layers(const std::vector<MethodTensor>& tensors) {
  std::vector<std::size_t> layers;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (is_planned(tensors[i])) layers.push_back(i);
  }
  return layers;
}

std::vector<std::string> names_of(const std::vector<MethodTensor>& tensors,
                                  std::span<const std::size_t> layers) {
  std::vector<std::string> names;
  for (const std::size_t tensor : layers) names.push_back(tensors[tensor].name);
  return names;
}

// Stands for a list of candidates in a state: choices are numbers in it. Whole in a double.
double number_of(const Candidates& candidates) {
  std::string specs;
  for (const Candidate& candidate : candidates.all) specs += candidate.spec + ' ';
  return static_cast<double>(fingerprint(specs) >> 12);
}

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

bool has_codecs(const Candidates& candidates) {
  return candidates.has(Family::qsgd) || candidates.has(Family::topk);
}

void check_fit(const LgrecoOptions& lgreco, const std::vector<MethodTensor>& tensors,
               const MethodOptions& options) {
  if (options.topology == Topology::server && !options.server_contributes) {
    throw Error(lgreco.spec + " needs gradients on the server, too: it plans by those of all");
  }
  if (std::ranges::none_of(tensors, is_planned)) {
    throw Error(lgreco.spec +
                " has nothing to plan: no tensor has two dimensions and 256 elements. Take one "
                "setting for all, such as ef(topk(1%)) or qsgd(bits=4)");
  }
  if (options.topology == Topology::ring && has_codecs(lgreco.candidates)) {
    throw Error(
        "topology ring: layers with codecs of their own cannot be summed on the way; take "
        "scatter, server or gather");
  }
}

class Lgreco final : public Method {
 public:
  Lgreco(Communicator& communicator, std::vector<MethodTensor> tensors, const LgrecoOptions& lgreco,
         const MethodOptions& options);

  const std::string& spec() const override { return lgreco_.spec; }
  MethodTraits traits() const override { return {}; }
  Topology topology() const override { return topology_; }

  void begin(const StepContext& context) override;
  void submit(std::size_t tensor, std::span<float> gradient) override;
  MethodReport finish() override;

  MethodState save() const override;
  void load(const MethodState& state) override;
  std::vector<TensorPiece> owned() const override { return inner_->owned(); }
  void rescale(float factor) override;
  std::size_t memory_bytes() const override;

 private:
  // When the next plan, and the next look of the guard, are due, in steps done.
  struct Schedule {
    std::uint64_t done = 0;
    std::uint64_t plan_at = 0;
    std::uint64_t check_at = 0;

    std::uint64_t next() const { return std::min(plan_at, check_at); }
  };

  Topology choose_topology(const MethodOptions& options) const;
  const Candidate& candidate(std::size_t layer) const {
    return lgreco_.candidates.all[choices_[layer]];
  }
  std::vector<std::size_t> uniform_choices() const;
  std::unique_ptr<LayerMethod> make_inner(std::span<const std::size_t> choices);
  void set_next_check();
  bool is_watched() const;

  // What is done before a step if it is due.
  void look();
  // Whether the error is what the plan promised; if not, why it is to be made again.
  std::string guard(std::span<const std::vector<float>> values);
  // False if it cannot be made now.
  bool plan(std::span<const std::vector<float>> values, std::string reason);
  std::vector<std::size_t> choose(std::vector<LayerCosts>& costs);
  void measure_link(std::vector<LayerCosts>& costs);
  void adopt(std::vector<std::size_t> choices);
  void describe(const LayerPlan& plan, std::span<const LayerCosts> costs, PlanNote& note) const;
  CostOptions cost_options(std::size_t tensor) const;
  MethodState description() const;
  std::string choice_key(std::size_t layer) const {
    return "choice of " + tensors_[watch_.layers()[layer]].name;
  }

  Communicator& communicator_;
  const LgrecoOptions lgreco_;
  const std::vector<MethodTensor> tensors_;
  StepOrder order_;
  LayerWatch watch_;
  LayerExperience experience_;
  LayerMethod::Setup setup_;  // choices apart
  Topology topology_;
  const TravelGroups groups_;
  PlanCouncil council_;
  std::vector<std::size_t> choices_;  // a candidate for each layer
  std::unique_ptr<LayerMethod> inner_;

  Schedule schedule_;
  std::optional<double> promised_;  // the relative error of the plan, if there is one
  StepContext context_;
  std::shared_ptr<PlanNote> note_;  // of this step
  double planning_seconds_ = 0;     // since the last plan

  // How long gradients take to become ready, in the steps that are watched.
  Clock::time_point first_submitted_;
  double submit_seconds_ = 0;
  double compute_seconds_ = 0;
};

Lgreco::Lgreco(Communicator& communicator, std::vector<MethodTensor> tensors,
               const LgrecoOptions& lgreco, const MethodOptions& options)
    : communicator_(communicator),
      lgreco_(lgreco),
      tensors_(std::move(tensors)),
      order_(tensors_),
      watch_(tensors_, planned_layers(tensors_), lgreco.window),
      experience_(names_of(tensors_, watch_.layers())),
      groups_(find_groups(tensors_, watch_.layers(), options.group_elements)),
      council_(communicator, watch_.layers().size(), lgreco_.candidates.all.size(), options) {
  setup_.has_memory = std::ranges::any_of(lgreco_.candidates.all, &Candidate::has_memory);
  setup_.options = options;
  setup_.low_rank_topology = options.topology;
  setup_.options.topology = choose_topology(options);
  const bool is_summed = !has_codecs(lgreco_.candidates) && options.topology == Topology::automatic;
  topology_ = is_summed                            ? Topology::ring
              : options.topology == Topology::ring ? Topology::ring
                                                   : setup_.options.topology;
  choices_ = lgreco_.is_warmup_exact ? std::vector<std::size_t>(watch_.layers().size(), 0)
                                     : uniform_choices();
  inner_ = make_inner(choices_);
  schedule_.plan_at = std::max(lgreco_.warmup, lgreco_.window);
  schedule_.check_at = schedule_.plan_at;
}

// Of tensors with codecs, once and for all, so that it does not change with plans. On a ring there
// are none but those that are sent as they are.
Topology Lgreco::choose_topology(const MethodOptions& options) const {
  if (options.topology == Topology::ring) return Topology::scatter;
  if (options.topology != Topology::automatic) return options.topology;
  const Candidate& uniform = lgreco_.candidates.all[lgreco_.candidates.uniform];
  std::size_t bytes = 0;
  for (const MethodTensor& tensor : tensors_) {
    const bool is_coded = is_planned(tensor) && uniform.codec;
    bytes += is_coded ? uniform.codec->payload_bytes_max(tensor.elements())
                      : tensor.elements() * sizeof(float);
  }
  return choose_mixed_topology(bytes, communicator_.size());
}

std::vector<std::size_t> Lgreco::uniform_choices() const {
  const Candidates& candidates = lgreco_.candidates;
  std::vector<std::size_t> choices;
  for (const std::size_t tensor : watch_.layers()) {
    const bool is_possible_here = is_possible(tensors_[tensor], candidates.all[candidates.uniform]);
    choices.push_back(is_possible_here ? candidates.uniform : 0);
  }
  return choices;
}

std::unique_ptr<LayerMethod> Lgreco::make_inner(std::span<const std::size_t> choices) {
  setup_.choices.assign(tensors_.size(), &lgreco_.candidates.all.front());
  for (std::size_t i = 0; i < choices.size(); ++i) {
    setup_.choices[watch_.layers()[i]] = &lgreco_.candidates.all[choices[i]];
  }
  return std::make_unique<LayerMethod>(communicator_, tensors_, setup_);
}

// --- A step ---

bool Lgreco::is_watched() const { return schedule_.done + watch_.window() >= schedule_.next(); }

void Lgreco::begin(const StepContext& context) {
  order_.check_begin(context);
  context_ = context;
  note_ = nullptr;
  if (schedule_.done == schedule_.next()) look();
  submit_seconds_ = 0;
  inner_->begin(context);
  order_.begin();
}

void Lgreco::submit(std::size_t tensor, std::span<float> gradient) {
  const Clock::time_point start = Clock::now();
  if (order_.submitted() == 0) first_submitted_ = start;
  order_.submit(tensor, gradient);
  if (is_watched()) {
    watch_.add(tensor, gradient, context_.weight);
    planning_seconds_ += seconds_since(start);
  }
  inner_->submit(tensor, gradient);
  submit_seconds_ += seconds_since(start);
}

MethodReport Lgreco::finish() {
  order_.check_finish();
  order_.end();
  if (is_watched()) {
    const double share = 1 / static_cast<double>(watch_.window());
    compute_seconds_ += share * (seconds_since(first_submitted_) - submit_seconds_);
    watch_.end_step();
  }
  ++schedule_.done;
  MethodReport report = inner_->finish();
  report.add(council_.take_report());
  report.plan = note_;
  return report;
}

// --- Plans ---

void Lgreco::look() {
  GW_CHECK(watch_.is_full());
  const Clock::time_point start = Clock::now();
  MethodState errors;
  inner_->save(errors);
  const auto values = watch_.with_errors(errors, context_.learning_rate);
  std::string reason;
  if (schedule_.done != schedule_.plan_at) {
    reason = guard(values);
  } else {
    reason = !promised_ ? "The first plan." : "A new plan: the period is over.";
  }
  const bool has_failed = !reason.empty() && !plan(values, std::move(reason));
  watch_.clear();
  compute_seconds_ = 0;
  // A plan that could not be made is tried again as soon as there is a window to see.
  if (has_failed) {
    schedule_.plan_at = schedule_.done + watch_.window();
  } else if (schedule_.plan_at == schedule_.done) {
    schedule_.plan_at += lgreco_.period;
  }
  set_next_check();
  planning_seconds_ += seconds_since(start);
  if (note_) note_->seconds = std::exchange(planning_seconds_, 0);
}

void Lgreco::set_next_check() {
  const std::size_t steps = std::max(watch_.window(), lgreco_.period / kChecksPerPeriod);
  const std::uint64_t next = schedule_.done + steps;
  // The plan needs a window of its own behind it.
  const bool has_room = next + watch_.window() <= schedule_.plan_at;
  schedule_.check_at = lgreco_.guard > 0 && promised_ && has_room ? next : schedule_.plan_at;
}

CostOptions Lgreco::cost_options(std::size_t tensor) const {
  return {.sample_elements = kSampleElements,
          .rng = {.seed = setup_.options.seed,
                  .step = context_.step,
                  .tensor = Rng::tensor_id(tensors_[tensor].name),
                  .rank = static_cast<std::uint32_t>(communicator_.rank())}};
}

std::string Lgreco::guard(std::span<const std::vector<float>> values) {
  const std::size_t layers = watch_.layers().size();
  std::vector<double> numbers(2 * layers);  // errors, then norms
  for (std::size_t i = 0; i < layers; ++i) {
    const std::size_t tensor = watch_.layers()[i];
    const CandidateCost cost =
        measure_cost(tensors_[tensor], values[i], candidate(i), cost_options(tensor));
    numbers[i] = std::sqrt(cost.squared_error);
    numbers[layers + i] = std::sqrt(kernel::moments(values[i]).squares);
  }
  if (!council_.share(context_.step, numbers)) return "";
  double error = 0;
  double norm = 0;
  for (std::size_t i = 0; i < layers; ++i) {
    const double squared_norm = numbers[layers + i] * numbers[layers + i];
    error += layer_error(lgreco_.measure, candidate(i), {.squared_error = numbers[i] * numbers[i]},
                         squared_norm);
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

// What each candidate's exchange takes here.
void Lgreco::measure_link(std::vector<LayerCosts>& costs) {
  const PlanCouncil::Link link = council_.probe(context_.step, topology_);
  std::vector<double> compute = {compute_seconds_};
  council_.share(context_.step, compute);
  for (LayerCosts& layer : costs) {
    for (auto& cost : layer.by_candidate) {
      // The owner of a part reads what came, and writes and reads what goes down.
      if (cost) cost->seconds = 2 * cost->seconds + cost->bytes / link.bytes_per_second;
    }
  }
  note_->budget = {.compute_seconds = compute[0],
                   .bytes_per_second = link.bytes_per_second,
                   .latency_seconds = link.latency_seconds,
                   .groups = groups_.groups};
}

// As rank 0 does it, for all.
std::vector<std::size_t> Lgreco::choose(std::vector<LayerCosts>& costs) {
  const bool is_first = communicator_.rank() == 0;
  std::vector<std::size_t> choices(costs.size());
  if (!lgreco_.has_time_budget) {
    const PlanOptions options{.measure = lgreco_.measure, .alpha = lgreco_.alpha};
    if (is_first) choices = plan_layers(lgreco_.candidates, costs, options).choices;
    return council_.hear(context_.step, std::move(choices));
  }
  measure_link(costs);
  PlanNote::Budget& measured = *note_->budget;
  const TimeBudget budget = find_budget(groups_, measured);
  if (is_first) {
    choices = plan_in_time(lgreco_.candidates, costs, lgreco_.measure, groups_, budget);
  }
  choices = council_.hear(context_.step, std::move(choices));
  const TimeBudget taken = exchange_seconds(costs, choices, groups_);
  measured.hidden_room_seconds = budget.hidden_seconds;
  measured.hidden_seconds = taken.hidden_seconds;
  measured.visible_seconds = measured.latency_seconds + taken.last_seconds;
  if (taken.hidden_seconds > budget.hidden_seconds || taken.last_seconds > budget.last_seconds) {
    note_->reason += " Not all of it can be as quick as it should: what cannot is the quickest.";
  }
  return choices;
}

bool Lgreco::plan(std::span<const std::vector<float>> values, std::string reason) {
  std::vector<LayerCosts> costs;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t tensor = watch_.layers()[i];
    costs.push_back(
        {measure_costs(tensors_[tensor], values[i], lgreco_.candidates, cost_options(tensor)),
         kernel::moments(values[i]).squares});
  }
  note_ = std::make_shared<PlanNote>();
  note_->reason = std::move(reason);
  if (!council_.share(context_.step, costs)) {
    note_->reason = "No new plan: the gradients are not finite, or too large for low rank.";
    return false;
  }
  experience_.apply(lgreco_.candidates, lgreco_.measure, choices_, costs);
  std::vector<std::size_t> choices = choose(costs);
  const PlanOptions options{.measure = lgreco_.measure, .alpha = lgreco_.alpha};
  const LayerPlan plan = price(lgreco_.candidates, costs, options, choices);
  experience_.note(lgreco_.candidates, lgreco_.measure, choices, costs);
  promised_ = plan.relative_error();
  adopt(std::move(choices));
  describe(plan, costs, *note_);
  return true;
}

void Lgreco::adopt(std::vector<std::size_t> choices) {
  if (choices == choices_) return;
  MethodState memories;
  inner_->save(memories);
  auto next = make_inner(choices);
  next->take_over(memories, communicator_.size());
  inner_ = std::move(next);
  choices_ = std::move(choices);
}

void Lgreco::describe(const LayerPlan& plan, std::span<const LayerCosts> costs,
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
    if (layer == watch_.layers().size() || watch_.layers()[layer] != i) continue;
    const CandidateCost& cost = *costs[layer].by_candidate[choices_[layer]];
    const double norm = costs[layer].squared_norm;
    line.choice = candidate(layer).spec;
    line.bytes = cost.bytes;
    line.error = norm > 0 ? std::sqrt(cost.squared_error / norm) : 0;
    ++layer;
  }
}

// --- What is kept ---

MethodState Lgreco::description() const {
  MethodState state;
  state.spec = spec();
  // As in methods with codecs: what counts is which memories there are.
  const Topology topology = setup_.options.topology;
  const bool has_owners = topology == Topology::scatter || topology == Topology::server;
  state.topology = setup_.has_memory && has_owners ? "with a rounded downlink, such as scatter"
                                                   : "with an exact downlink, such as gather";
  state.rank = communicator_.rank();
  state.ranks = communicator_.size();
  for (const auto& [tensor, shape] : tensors_) state.tensors.push_back({tensor, shape});
  return state;
}

MethodState Lgreco::save() const {
  GW_CHECK(!order_.is_begun());
  MethodState state = description();
  inner_->save(state);
  watch_.save(state);
  for (std::size_t i = 0; i < choices_.size(); ++i) {
    state.numbers[choice_key(i)] = static_cast<double>(choices_[i]);
  }
  state.numbers["steps"] = static_cast<double>(schedule_.done);
  state.numbers["next plan"] = static_cast<double>(schedule_.plan_at);
  state.numbers["next check"] = static_cast<double>(schedule_.check_at);
  state.numbers["candidates"] = number_of(lgreco_.candidates);
  if (promised_) state.numbers["promised error"] = *promised_;
  experience_.save(state);
  return state;
}

void Lgreco::load(const MethodState& state) {
  GW_CHECK(!order_.is_begun());
  check_fit(description(), state);
  const auto number = [&](const std::string& key) {
    const auto found = state.numbers.find(key);
    if (found == state.numbers.end()) throw Error("the saved state has no '" + key + '\'');
    return found->second;
  };
  const auto count = [&](const std::string& key) {
    const double value = number(key);
    if (value >= 0 && value <= 0x1p53 && value == std::floor(value)) {
      return static_cast<std::uint64_t>(value);
    }
    throw Error("the saved state has " + format_number(value) + " as '" + key + '\'');
  };
  watch_.check(state);
  if (number("candidates") != number_of(lgreco_.candidates)) {
    throw Error("the saved state is of a version that had other settings to choose from");
  }
  std::vector<std::size_t> choices;
  for (std::size_t i = 0; i < choices_.size(); ++i) {
    choices.push_back(count(choice_key(i)));
    const bool is_good =
        choices[i] < lgreco_.candidates.all.size() &&
        is_possible(tensors_[watch_.layers()[i]], lgreco_.candidates.all[choices[i]]);
    if (!is_good) throw Error("the saved state has a wrong '" + choice_key(i) + '\'');
  }
  const Schedule schedule{
      .done = count("steps"), .plan_at = count("next plan"), .check_at = count("next check")};
  const auto promised = state.numbers.find("promised error");
  // What is due after fewer steps than a window has is being watched.
  const std::uint64_t left = schedule.next() - schedule.done;
  const std::uint64_t watched = left < watch_.window() ? watch_.window() - left : 0;
  if (schedule.done > schedule.next() || watched != watch_.saved_steps(state)) {
    throw Error("the saved state has accumulated gradients of another step than the next plan's");
  }
  auto inner = make_inner(choices);
  inner->load(state);
  inner_ = std::move(inner);
  choices_ = std::move(choices);
  schedule_ = schedule;
  promised_ = promised != state.numbers.end() ? std::optional(promised->second) : std::nullopt;
  watch_.load(state);
  experience_.load(state);
}

void Lgreco::rescale(float factor) {
  GW_CHECK(!order_.is_begun());
  check_rescale(factor);
  inner_->rescale(factor);
  watch_.rescale(factor);
}

std::size_t Lgreco::memory_bytes() const { return inner_->memory_bytes() + watch_.memory_bytes(); }

}  // namespace

std::unique_ptr<Method> make_lgreco(Communicator& communicator, std::vector<MethodTensor> tensors,
                                    const LgrecoOptions& lgreco, const MethodOptions& options) {
  check_fit(lgreco, tensors, options);
  return std::make_unique<Lgreco>(communicator, std::move(tensors), lgreco, options);
}

}  // namespace gradwire
