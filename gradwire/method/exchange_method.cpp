#include "gradwire/method/exchange_method.h"

#include <algorithm>
#include <exception>

#include "gradwire/core/check.h"
#include "gradwire/core/error.h"
#include "gradwire/method/rule_ports.h"
#include "gradwire/method/rules.h"
#include "gradwire/method/step_order.h"
#include "gradwire/method/tensor_groups.h"

namespace gradwire {

namespace {

// Tensors that travel together, and their exchange.
struct Group {
  std::size_t first = 0;
  std::size_t last = 0;  // one behind
  std::unique_ptr<WorkerHalf> worker = {};
  std::unique_ptr<OwnerHalf> owner = {};
  std::vector<std::span<const float>> values = {};
  std::unique_ptr<MethodExchange> exchange = {};  // goes first: it waits for what was started
};

Topology choose(const std::vector<MethodTensor>& tensors, std::size_t ranks, const Codecs& codecs,
                RuleKind kind) {
  if (!codecs.each.empty()) {
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      bytes += codecs.each[i]->payload_bytes_max(tensors[i].elements());
    }
    return choose_mixed_topology(bytes, ranks);
  }
  const std::size_t elements = total_elements(tensors);
  if (kind == RuleKind::lazy && codecs.down->is_plain()) {
    return choose_exact_topology(elements, ranks, *codecs.up);
  }
  return choose_topology(elements, ranks, *codecs.up, codecs.down.get());
}

// Only scatter and gather have result frames that a rank can be given by another one.
Topology repeatable(Topology topology) {
  return topology == Topology::gather ? topology : Topology::scatter;
}

class ExchangeMethod final : public RepeatableMethod {
 public:
  // With a gate, a step is one exchange, which waits for the gate.
  ExchangeMethod(Communicator& communicator, std::vector<MethodTensor> tensors, MethodSetup setup,
                 const MethodOptions& options, CommitGate* gate = nullptr);

  const std::string& spec() const override { return setup_.spec; }
  MethodTraits traits() const override { return setup_.traits; }
  Topology topology() const override { return topology_; }

  bool wants_gradient() override;
  void begin(const StepContext& context) override;
  void submit(std::size_t tensor, std::span<float> gradient) override;
  MethodReport finish() override;
  MethodReport replay(const StepContext& context, std::span<const std::vector<std::byte>> results,
                      std::span<const std::span<float>> outputs) override;
  void take_over(const MethodState& before, const Regrouping& how) override;

  MethodState save() const override;
  void load(const MethodState& state) override;
  std::vector<TensorPiece> owned() const override;
  void rescale(float factor) override;
  std::size_t memory_bytes() const override;
  std::vector<std::uint64_t> tensor_bytes() const override;

 private:
  void make_exchanges(const Codecs& codecs);
  void start(Group& group, bool is_repeat);
  void settle(Group& group, MethodReport& report);
  void note_late(const MethodReport& report);
  MethodState empty_state() const;
  bool is_ported() const { return setup_.kind != RuleKind::plain || gate_ != nullptr; }

  Communicator& communicator_;
  const MethodSetup setup_;
  CommitGate* const gate_;
  std::span<const std::vector<std::byte>> replay_;  // during replay()
  Topology topology_;
  RuleWorkspace workspace_;
  std::unique_ptr<Rule> rule_;
  std::unique_ptr<StepOrder> order_;
  std::vector<Group> groups_;  // go first: exchanges work with the rule
  std::size_t next_group_ = 0;
  bool is_repeat_ = false;  // the last step's message was the one before it

  // With grace.
  bool spares_gradient_ = false;  // the step at hand has none
  bool owes_gradient_ = false;    // the last one was late, and is in the memory
  bool is_behind_ = false;        // and the means of steps after it were here before they began
  std::optional<std::uint64_t> next_step_ = {};
};

ExchangeMethod::ExchangeMethod(Communicator& communicator, std::vector<MethodTensor> tensors,
                               MethodSetup setup, const MethodOptions& options, CommitGate* gate)
    : communicator_(communicator),
      setup_(std::move(setup)),
      gate_(gate),
      topology_(options.topology != Topology::automatic ? options.topology
                : options.grace.is_given()
                    ? Topology::scatter
                    : choose(tensors, communicator.size(),
                             setup_.steady.up ? setup_.steady : setup_.codecs, setup_.kind)) {
  if (gate_ != nullptr) topology_ = repeatable(topology_);
  const bool has_dedicated_server = traits_of(topology_).has_server && !options.server_contributes;
  workspace_.workers = communicator.size() - (has_dedicated_server ? 1 : 0);
  workspace_.only_averages = has_dedicated_server && communicator.rank() == options.server;
  constexpr std::size_t kLargeElements = std::size_t{1} << 20;
  workspace_.is_large = total_elements(tensors) >= kLargeElements;
  workspace_.tensors = std::move(tensors);
  order_ = std::make_unique<StepOrder>(workspace_.tensors);
  workspace_.options = options;
  if (communicator.size() == 1) workspace_.options.grace = {};  // nobody is late
  workspace_.gradients.resize(workspace_.tensors.size());
  const bool is_whole = setup_.kind == RuleKind::lazy || gate_ != nullptr;
  const std::size_t group_elements = is_whole ? std::size_t(-1) : options.group_elements;
  for (const TensorGroup& group : TensorGroups(workspace_.tensors, group_elements)) {
    groups_.push_back({.first = group.first, .last = group.end()});
  }
  make_exchanges(setup_.codecs);
  const bool is_plain = setup_.kind == RuleKind::plain;
  rule_ =
      is_plain && is_ported() ? make_ported_direct_rule(workspace_) : setup_.make_rule(workspace_);
  if (const std::string why = rule_->why_not_regrouped(); gate_ != nullptr && !why.empty()) {
    throw Error(spec() + " cannot be used while ranks come and go: " + why);
  }
  for (Group& group : groups_) {
    group.worker = std::make_unique<WorkerHalf>(*rule_, group.first);
    group.owner = std::make_unique<OwnerHalf>(*rule_, group.first, group.last);
  }
}

void ExchangeMethod::make_exchanges(const Codecs& codecs) {
  workspace_.owned.clear();
  for (Group& group : groups_) {
    std::vector<TensorSize> shapes;
    for (std::size_t i = group.first; i < group.last; ++i) {
      shapes.push_back({workspace_.tensors[i].name, workspace_.tensors[i].elements()});
    }
    std::vector<std::shared_ptr<const Codec>> each;
    if (!codecs.each.empty()) {
      each.assign(codecs.each.begin() + static_cast<std::ptrdiff_t>(group.first),
                  codecs.each.begin() + static_cast<std::ptrdiff_t>(group.last));
    }
    group.exchange.reset();
    group.exchange =
        make_method_exchange(communicator_, std::move(shapes),
                             {.up = codecs.up,
                              .down = codecs.down,
                              .topology = topology_,
                              .server = workspace_.options.server,
                              .server_contributes = workspace_.options.server_contributes,
                              .seed = workspace_.options.seed,
                              .segment_elements_max = workspace_.options.segment_elements_max},
                             {.each = std::move(each),
                              .is_ported = is_ported(),
                              .keeps_uploads = setup_.kind == RuleKind::lazy,
                              .grace = workspace_.options.grace});
    for (const TensorPiece& piece : group.exchange->owned()) {
      workspace_.owned.push_back(in_all(piece, group.first));
    }
  }
  workspace_.codecs = codecs;
  if (!workspace_.codecs.down) workspace_.codecs.down = codecs.up;
  const bool has_owners = traits_of(topology_).has_owners;
  const auto is_rounded = [](const auto& codec) { return !codec->is_plain(); };
  workspace_.has_downlink =
      has_owners && (codecs.each.empty() ? is_rounded(workspace_.codecs.down)
                                         : std::ranges::any_of(codecs.each, is_rounded));
}

bool ExchangeMethod::wants_gradient() {
  if (!workspace_.options.grace.is_given()) return true;
  const bool is_over = std::ranges::all_of(
      groups_, [](const Group& group) { return group.exchange->has_next_result(); });
  if (is_over && owes_gradient_) is_behind_ = true;
  return !is_over && !(owes_gradient_ && is_behind_);
}

void ExchangeMethod::begin(const StepContext& context) {
  order_->check_begin(context);
  if (workspace_.options.grace.is_given()) {
    if (next_step_ && context.step != *next_step_) {
      throw Error("with grace, steps follow one another: after step " +
                  std::to_string(*next_step_ - 1) + " comes " + std::to_string(*next_step_) +
                  ", not " + std::to_string(context.step));
    }
    next_step_ = context.step + 1;
  }
  spares_gradient_ = !context.has_gradient;
  const MethodTraits& traits = setup_.traits;
  if (traits.needs_parameters && context.parameters.size() != workspace_.tensors.size()) {
    throw Error(spec() + " needs the parameters of every tensor in each step");
  }
  if (traits.needs_old_gradient && !context.gradient_at) {
    throw Error(spec() + " needs a way to compute gradients at older parameters");
  }
  workspace_.context = context;
  if (const Codecs codecs = rule_->on_begin(); codecs.up != workspace_.codecs.up) {
    make_exchanges(codecs);
  }
  next_group_ = 0;
  order_->begin();
}

void ExchangeMethod::submit(std::size_t tensor, std::span<float> gradient) {
  order_->submit(tensor, gradient);
  workspace_.gradients[tensor] = gradient;
  if (setup_.traits.needs_whole_gradient) return;
  if (groups_[next_group_].last == order_->submitted()) start(groups_[next_group_++], false);
}

void ExchangeMethod::start(Group& group, bool is_repeat) {
  const auto gradients =
      std::span(workspace_.gradients).subspan(group.first, group.last - group.first);
  group.values.assign(gradients.begin(), gradients.end());
  ExchangeCall call{.step = workspace_.context.step, .means = gradients};
  MethodCall method{.is_repeat = is_repeat, .gate = gate_, .replay = replay_};
  if (is_ported()) {
    method.worker = group.worker.get();
    if (workspace_.has_downlink) method.owner = group.owner.get();
  } else {
    call.weight = workspace_.context.weight;
    call.values = group.values;
  }
  group.exchange->start(call, method);
}

MethodReport ExchangeMethod::finish() {
  order_->check_finish();
  order_->end();
  is_repeat_ = false;
  if (setup_.traits.needs_whole_gradient) {
    is_repeat_ = !workspace_.only_averages &&
                 (spares_gradient_ ? rule_->on_spared_gradient() : rule_->on_whole_gradient());
    for (Group& group : groups_) start(group, is_repeat_);
  }
  MethodReport report{
      .uploads = is_repeat_ || workspace_.only_averages || spares_gradient_ ? 0u : 1u,
      .uploads_skipped = is_repeat_ ? 1u : 0u};
  // What was started is waited for, also when it is over: the first failure is the cause.
  std::exception_ptr failure;
  for (Group& group : groups_) {
    try {
      settle(group, report);
    } catch (const std::exception&) {
      if (!failure) failure = std::current_exception();
    }
  }
  if (failure) std::rethrow_exception(failure);
  note_late(report);
  return report;
}

// A late gradient travels with the next one. But a rank that has missed whole steps sends it as
// soon as a mean is open, without a new one: otherwise a rank that is always late would never be
// heard.
void ExchangeMethod::note_late(const MethodReport& report) {
  const bool is_late = std::ranges::binary_search(report.late, communicator_.rank());
  if (!is_late) owes_gradient_ = is_behind_ = false;
  if (is_late && !spares_gradient_) owes_gradient_ = !setup_.traits.reuses_uploads;
}

void ExchangeMethod::settle(Group& group, MethodReport& report) {
  const ExchangeReport part = group.exchange->finish();
  rule_->on_settled(group.first, group.last, part.poisoned);
  report.add(part);
}

MethodReport ExchangeMethod::replay(const StepContext& context,
                                    std::span<const std::vector<std::byte>> results,
                                    std::span<const std::span<float>> outputs) {
  GW_CHECK(gate_ != nullptr);
  replay_ = results;
  const MethodReport report = run(context, outputs);
  replay_ = {};
  return report;
}

void ExchangeMethod::take_over(const MethodState& before, const Regrouping& how) {
  MethodState state = save();
  for (StateArray& array : state.arrays) {
    for (const StateArray& old : before.arrays) {
      if (old.memory != array.memory || old.tensor != array.tensor) continue;
      const std::size_t first = std::max(array.first, old.first);
      const std::size_t end =
          std::min(array.first + array.values.size(), old.first + old.values.size());
      for (std::size_t i = first; i < end; ++i) {
        array.values[i - array.first] = old.values[i - old.first];
      }
    }
  }
  state.numbers = before.numbers;
  load(state);
  rule_->on_regrouped(how);
}

// What tells this method's states from others.
MethodState ExchangeMethod::empty_state() const {
  MethodState state;
  state.spec = spec();
  // What memories there are depends on whether what goes down is rounded, not on the way it goes;
  // last uploads are kept as they travelled.
  state.topology = setup_.kind == RuleKind::lazy ? name(topology_)
                   : workspace_.has_downlink     ? "with a rounded downlink, such as scatter"
                                                 : "with an exact downlink, such as gather";
  state.rank = communicator_.rank();
  state.ranks = communicator_.size();
  state.only_averages = workspace_.only_averages;
  for (const auto& [tensor, shape] : workspace_.tensors) state.tensors.push_back({tensor, shape});
  return state;
}

MethodState ExchangeMethod::save() const {
  order_->check_between_steps("save()");
  if (std::ranges::any_of(groups_, [](const Group& group) { return group.exchange->is_ahead(); })) {
    throw Error("with grace, ranks wait for one another before and after they save their states");
  }
  MethodState state = empty_state();
  for (const Memory& memory : workspace_.memories) memory.save(state);
  if (setup_.kind == RuleKind::lazy) {
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      state.blobs["uploads " + std::to_string(i)] = groups_[i].exchange->save_uploads();
    }
  }
  rule_->on_save(state);
  return state;
}

void ExchangeMethod::load(const MethodState& state) {
  order_->check_between_steps("load()");
  if (next_step_) throw Error("with grace, a state is loaded before the first step");
  MethodState ours = empty_state();
  if (state.is_reshared && setup_.kind == RuleKind::lazy) ours.topology = state.topology;
  check_state_fits(ours, state);
  // Everything is looked at before anything is changed.
  for (const Memory& memory : workspace_.memories) memory.check(state);
  if (setup_.kind == RuleKind::lazy && !state.is_reshared) {
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      const auto blob = state.blobs.find("uploads " + std::to_string(i));
      if (blob == state.blobs.end()) throw Error("the saved state has no last uploads");
      groups_[i].exchange->load_uploads(blob->second);
    }
  }
  for (Memory& memory : workspace_.memories) memory.load(state);
  rule_->on_load(state);
}

std::vector<TensorPiece> ExchangeMethod::owned() const {
  const bool has_memory = std::ranges::any_of(
      workspace_.memories, [](const Memory& memory) { return memory.sharing() == Sharing::owner; });
  return has_memory ? workspace_.owned : std::vector<TensorPiece>();
}

void ExchangeMethod::rescale(float factor) {
  order_->check_between_steps("rescale()");
  if (workspace_.options.grace.is_given()) {
    throw Error("with grace, memories cannot be rescaled: owners work on theirs between steps");
  }
  check_rescale(factor);
  for (Memory& memory : workspace_.memories) memory.rescale(factor);
  rule_->on_rescale(factor);
}

std::size_t ExchangeMethod::memory_bytes() const {
  std::size_t bytes = rule_->extra_bytes();
  for (const Memory& memory : workspace_.memories) bytes += memory.bytes();
  for (const Group& group : groups_) bytes += group.exchange->upload_bytes();
  return bytes;
}

std::vector<std::uint64_t> ExchangeMethod::tensor_bytes() const {
  // A ring takes no codecs by tensor, so that there is one for all.
  if (workspace_.codecs.up && rounds_at_every_hop(topology_, *workspace_.codecs.up)) return {};
  std::vector<std::uint64_t> bytes(workspace_.tensors.size());
  if (is_repeat_ || workspace_.only_averages) return bytes;
  for (const Group& group : groups_) {
    group.exchange->walk_own([&](const Exchange::OwnPiece& piece) {
      bytes[group.first + piece.of_tensor.tensor] += piece.message_bytes;
    });
  }
  return bytes;
}

}  // namespace

ParsedMethod describe_method(MethodSetup setup) {
  const Codecs& codecs = setup.steady.up ? setup.steady : setup.codecs;
  ParsedMethod method{.spec = setup.spec,
                      .traits = setup.traits,
                      .up = codecs.up,
                      .down = codecs.down ? codecs.down : codecs.up};
  if (setup.safe_step) {
    method.safe_step = [formula = setup.safe_step, up = method.up,
                        down = method.down](const StepFacts& facts) {
      return formula(facts, step_noise(*up, *down, facts));
    };
  }
  method.why_not_repeatable = setup.why_not_repeatable;
  if (setup.why_not_late) method.why_not_late = *setup.why_not_late;
  if (setup.why_not_repeatable.empty()) {
    method.make_repeatable = [setup](Communicator& communicator, std::vector<MethodTensor> tensors,
                                     const MethodOptions& options, CommitGate& gate) {
      return make_repeatable_method(communicator, std::move(tensors), setup, options, gate);
    };
  }
  method.make = [setup = std::move(setup)](Communicator& communicator,
                                           std::vector<MethodTensor> tensors,
                                           const MethodOptions& options) {
    return make_exchange_method(communicator, std::move(tensors), setup, options);
  };
  return method;
}

std::unique_ptr<Method> make_exchange_method(Communicator& communicator,
                                             std::vector<MethodTensor> tensors, MethodSetup setup,
                                             const MethodOptions& options) {
  return std::make_unique<ExchangeMethod>(communicator, std::move(tensors), std::move(setup),
                                          options);
}

std::unique_ptr<RepeatableMethod> make_repeatable_method(Communicator& communicator,
                                                         std::vector<MethodTensor> tensors,
                                                         MethodSetup setup,
                                                         const MethodOptions& options,
                                                         CommitGate& gate) {
  return std::make_unique<ExchangeMethod>(communicator, std::move(tensors), std::move(setup),
                                          options, &gate);
}

}  // namespace gradwire
