#include "gradwire/method/lgreco/lgreco.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "gradwire/codec/spec.h"
#include "gradwire/core/check.h"
#include "gradwire/core/error.h"
#include "gradwire/method/lgreco/layer_method.h"
#include "gradwire/method/lgreco/layer_planner.h"
#include "gradwire/method/lgreco/layer_watch.h"
#include "gradwire/method/lgreco/lgreco_reader.h"
#include "gradwire/method/lgreco/plan_note.h"
#include "gradwire/method/methods.h"
#include "gradwire/method/step_order.h"
#include "gradwire/wire/frame.h"

namespace gradwire {
namespace {

// Between two plans the guard looks this often.
constexpr std::size_t kChecksPerPeriod = 4;

std::vector<std::size_t> planned_layers(const std::vector<MethodTensor>& tensors) {
  std::vector<std::size_t> layers;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (is_planned(tensors[i])) layers.push_back(i);
  }
  return layers;
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

void check_options(const LgrecoOptions& lgreco, const std::vector<MethodTensor>& tensors,
                   const MethodOptions& options) {
  if (traits_of(options.topology).has_server && !options.server_contributes) {
    throw Error(lgreco.spec + " needs gradients on the server, too: it plans by those of all");
  }
  if (std::ranges::none_of(tensors, is_planned)) {
    throw Error(lgreco.spec +
                " has nothing to plan: no tensor has two dimensions and 256 elements. Take one "
                "setting for all, such as ef(topk(1%)) or qsgd(bits=4)");
  }
  if (traits_of(options.topology).passes_sums && has_codecs(lgreco.candidates)) {
    throw Error(std::string("topology ") + name(options.topology) +
                ": layers with codecs of their own cannot be summed on the way; take "
                "scatter, server or gather");
  }
}

constexpr MethodTraits kTraits{.has_memory = true,
                               .settles = MethodTraits::Settles::with_first_note};

class Lgreco final : public Method {
 public:
  Lgreco(Communicator& communicator, std::vector<MethodTensor> tensors, const LgrecoOptions& lgreco,
         const MethodOptions& options);

  const std::string& spec() const override { return lgreco_.spec; }
  MethodTraits traits() const override { return kTraits; }
  Topology topology() const override { return topology_; }

  void begin(const StepContext& context) override;
  void submit(std::size_t tensor, std::span<float> gradient) override;
  MethodReport finish() override;

  MethodState save() const override;
  void load(const MethodState& state) override;
  std::vector<TensorPiece> owned() const override { return inner_->owned(); }
  void rescale(float factor) override;
  std::size_t memory_bytes() const override;
  std::vector<std::uint64_t> tensor_bytes() const override { return inner_->tensor_bytes(); }

 private:
  // When the next plan, and the next look of the guard, are due, in steps done.
  struct Schedule {
    std::uint64_t done = 0;
    std::uint64_t plan_at = 0;
    std::uint64_t check_at = 0;

    std::uint64_t next() const { return std::min(plan_at, check_at); }
  };

  Topology choose_topology(const MethodOptions& options) const;
  std::vector<std::size_t> uniform_choices() const;
  std::unique_ptr<LayerMethod> make_inner(std::span<const std::size_t> choices);
  void set_next_check();
  bool is_watched() const;

  // What is done before a step if it is due.
  void look();
  void adopt(std::vector<std::size_t> choices, const MethodState& memories);
  MethodState description() const;
  std::string choice_key(std::size_t layer) const {
    return "choice of " + tensors_[watch_.layers()[layer]].name;
  }

  Communicator& communicator_;
  const LgrecoOptions lgreco_;
  const std::vector<MethodTensor> tensors_;
  StepOrder order_;
  LayerWatch watch_;
  LayerMethod::Setup setup_;  // choices apart
  Topology topology_;
  std::unique_ptr<LayerPlanner> planner_;
  std::vector<std::size_t> choices_;  // a candidate for each layer
  std::unique_ptr<LayerMethod> inner_;

  Schedule schedule_;
  StepContext context_;
  std::optional<PlanNote> note_;  // of this step
  double planning_seconds_ = 0;   // since the last plan

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
      watch_(tensors_, planned_layers(tensors_), lgreco.window) {
  setup_.has_memory = std::ranges::any_of(lgreco_.candidates.all, &Candidate::has_memory);
  setup_.options = options;
  setup_.low_rank_topology = options.topology;
  setup_.options.topology = choose_topology(options);
  const bool is_summed = !has_codecs(lgreco_.candidates) && options.topology == Topology::automatic;
  topology_ = is_summed                                 ? Topology::ring
              : traits_of(options.topology).passes_sums ? options.topology
                                                        : setup_.options.topology;
  planner_ = std::make_unique<LayerPlanner>(
      communicator, LayerPlanner::Setup{lgreco_, tensors_, watch_.layers(), topology_, options});
  choices_ = lgreco_.is_warmup_exact ? std::vector<std::size_t>(watch_.layers().size(), 0)
                                     : uniform_choices();
  inner_ = make_inner(choices_);
  schedule_.plan_at = std::max(lgreco_.warmup, lgreco_.window);
  schedule_.check_at = schedule_.plan_at;
}

// Of tensors with codecs, once and for all, so that it does not change with plans. Where sums
// are passed on there are none but those that are sent as they are.
Topology Lgreco::choose_topology(const MethodOptions& options) const {
  if (traits_of(options.topology).passes_sums) return Topology::scatter;
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
  note_.reset();
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
  report.add(planner_->take_report());
  if (note_) report.note = std::make_shared<Note>(to_note(*note_));
  return report;
}

// --- Plans ---

void Lgreco::look() {
  GW_CHECK(watch_.is_full());
  const Clock::time_point start = Clock::now();
  MethodState memories;
  inner_->save(memories);
  const auto values = watch_.with_errors(memories, context_);
  const std::vector<double> norms = watch_.norms();
  const LayerPlanner::View view{.step = context_.step,
                                .values = values,
                                .choices = choices_,
                                .norms = norms,
                                .compute_seconds = compute_seconds_};
  const bool is_due = schedule_.done == schedule_.plan_at;
  const std::string reason = !is_due                    ? planner_->check_promise(view)
                             : planner_->has_promised() ? "A new plan: the period is over."
                                                        : "The first plan.";
  if (!reason.empty()) {
    note_ = PlanNote{.reason = reason};
    auto choices = planner_->plan(view, *note_);
    // One that could not be made is tried again as soon as there is a window to see.
    if (!choices) schedule_.plan_at = schedule_.done + watch_.window();
    if (choices) adopt(std::move(*choices), memories);
  }
  if (schedule_.plan_at == schedule_.done) schedule_.plan_at += lgreco_.period;
  watch_.clear();
  compute_seconds_ = 0;
  set_next_check();
  planning_seconds_ += seconds_since(start);
  if (note_) note_->seconds = std::exchange(planning_seconds_, 0);
}

void Lgreco::set_next_check() {
  const std::size_t steps = std::max(watch_.window(), lgreco_.period / kChecksPerPeriod);
  const std::uint64_t next = schedule_.done + steps;
  // The plan needs a window of its own behind it.
  const bool has_room = next + watch_.window() <= schedule_.plan_at;
  schedule_.check_at =
      lgreco_.guard > 0 && planner_->has_promised() && has_room ? next : schedule_.plan_at;
}

void Lgreco::adopt(std::vector<std::size_t> choices, const MethodState& memories) {
  if (choices == choices_) return;
  auto next = make_inner(choices);
  next->take_over(memories, communicator_.size());
  inner_ = std::move(next);
  choices_ = std::move(choices);
}

// --- What is kept ---

MethodState Lgreco::description() const {
  MethodState state;
  state.spec = spec();
  // As in methods with codecs: what counts is which memories there are.
  const bool has_owners = traits_of(setup_.options.topology).has_owners;
  state.topology = setup_.has_memory && has_owners ? "with a rounded downlink, such as scatter"
                                                   : "with an exact downlink, such as gather";
  state.rank = communicator_.rank();
  state.ranks = communicator_.size();
  for (const auto& [tensor, shape] : tensors_) state.tensors.push_back({tensor, shape});
  return state;
}

MethodState Lgreco::save() const {
  order_.check_between_steps("save()");
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
  planner_->save(state);
  return state;
}

void Lgreco::load(const MethodState& state) {
  order_.check_between_steps("load()");
  check_state_fits(description(), state);
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
  watch_.load(state);
  planner_->load(state);
}

void Lgreco::rescale(float factor) {
  order_.check_between_steps("rescale()");
  check_rescale(factor);
  inner_->rescale(factor);
  watch_.rescale(factor);
}

std::size_t Lgreco::memory_bytes() const { return inner_->memory_bytes() + watch_.memory_bytes(); }

ParsedMethod parsed(const LgrecoOptions& options) {
  const Candidate& uniform = options.candidates.all[options.candidates.uniform];
  return {.spec = options.spec,
          .traits = kTraits,
          .up = uniform.codec,
          .down = uniform.codec,
          .note = &plan_note_kind(),
          .host_parts = HostParts::one_rank,
          .make = [options](Communicator& communicator, std::vector<MethodTensor> tensors,
                            const MethodOptions& method) {
            return make_lgreco(communicator, std::move(tensors), options, method);
          }};
}

ParsedMethod read_lgreco(MethodReader& reader) { return parsed(read_lgreco_options(reader)); }
ParsedMethod read_accordion_method(MethodReader& reader) {
  return parsed(read_accordion_options(reader));
}

}  // namespace

MethodEntry accordion_method() {
  return {.name = "accordion",
          .read = read_accordion_method,
          .examples = {{"accordion(topk)", 2, 1, "", topologies_with_messages(),
                        "each layer one of two settings: the high one while its gradient changes"},
                       {"accordion(powersgd)", 2, 0, "factors", any_topology(),
                        "the same with the rank of powersgd"}}};
}

MethodEntry lgreco_method() {
  return {.name = "lgreco",
          .read = read_lgreco,
          .examples = {{"lgreco(qsgd)", 1, 0, "", topologies_with_messages(),
                        "every layer its own number of bits, planned while training"},
                       {"lgreco(topk)", 2, 1, "", topologies_with_messages(),
                        "the same with the share of topk"},
                       {"lgreco(powersgd)", 2, 0, "factors", any_topology(),
                        "the same with the rank of powersgd"},
                       {"lgreco(any)", 2, 1, "", topologies_with_messages(),
                        "the same, and each layer takes the best family"}}};
}

std::unique_ptr<Method> make_lgreco(Communicator& communicator, std::vector<MethodTensor> tensors,
                                    const LgrecoOptions& lgreco, const MethodOptions& options) {
  check_options(lgreco, tensors, options);
  return std::make_unique<Lgreco>(communicator, std::move(tensors), lgreco, options);
}

}  // namespace gradwire
