#include "gradwire/method/levels/host_method.h"

#include <algorithm>
#include <utility>

#include "gradwire/collective/host_sum.h"
#include "gradwire/core/error.h"
#include "gradwire/method/levels/host_state.h"
#include "gradwire/method/levels/old_gradient.h"
#include "gradwire/method/levels/parts.h"
#include "gradwire/method/step_order.h"
#include "gradwire/method/tensor_groups.h"

namespace gradwire {
namespace {

std::vector<std::size_t> ends_of(const TensorGroups& groups) {
  std::vector<std::size_t> ends;
  for (const TensorGroup& group : groups) ends.push_back(group.end());
  return ends;
}

// The method of a part: tensors and options of its own.
MethodOptions options_of_part(const HostGroups& groups, const MethodOptions& options,
                              std::span<const TensorPiece> part, std::size_t places) {
  MethodOptions own = options;
  own.seed += groups.place * 0x9E3779B97F4A7C15;  // parts are rounded independently
  own.group_elements = std::max<std::size_t>(1, options.group_elements / places);
  if (options.server < groups.host_of.size()) {  // its host; otherwise the exchange refuses it
    const auto server = std::ranges::find(groups.peer_ranks, groups.host_of[options.server],
                                          [&](std::size_t rank) { return groups.host_of[rank]; });
    own.server = static_cast<std::size_t>(server - groups.peer_ranks.begin());
  }
  own.moments.clear();
  for (const TensorPiece& piece : part) {
    if (!options.moments.empty()) own.moments.push_back(options.moments[piece.tensor]);
  }
  return own;
}

class HostMethod final : public Method {
 public:
  HostMethod(HostGroups& groups, std::vector<MethodTensor> tensors, const ParsedMethod& method,
             const MethodOptions& options);

  const std::string& spec() const override { return method_.spec; }
  MethodTraits traits() const override { return method_.traits; }
  Topology topology() const override { return topology_; }

  bool wants_gradient() override { return wants_gradient_; }
  void begin(const StepContext& context) override;
  void submit(std::size_t tensor, std::span<float> gradient) override;
  MethodReport finish() override;

  MethodState save() const override;
  void load(const MethodState& state) override;
  std::vector<TensorPiece> owned() const override;
  void rescale(float factor) override;
  std::size_t memory_bytes() const override { return inner_ ? inner_->memory_bytes() : 0; }
  std::vector<std::uint64_t> tensor_bytes() const override;

 private:
  std::span<const TensorPiece> part() const {
    return groups_.place < parts_.size() ? parts_[groups_.place] : std::span<const TensorPiece>();
  }
  void make_inner(const MethodOptions& options);
  StepContext context_of_part(const StepContext& context);
  void hand_over(std::size_t groups);
  std::vector<std::size_t> hosts_of(std::span<const std::size_t> peers) const;
  std::vector<std::size_t> ranks_of(std::span<const std::size_t> hosts) const;
  MethodState empty_state(MethodState state) const;
  // Calls work(); where that throws, the step is over.
  template <class Work>
  auto attempt(const Work& work);

  HostGroups& groups_;
  const ParsedMethod method_;
  const std::vector<MethodTensor> tensors_;
  Topology topology_ = Topology::automatic;  // of the first part: the same on all ranks
  StepOrder order_;
  const TensorGroups grouping_;
  const std::vector<std::vector<TensorPiece>> parts_;  // by place
  HostSum sum_;
  std::unique_ptr<OldGradient> old_gradient_;  // for methods that need it
  std::unique_ptr<Method> inner_;              // of this rank's part; null if it has none

  StepContext context_;  // of the step, as the part's method sees it
  float weight_ = 1;
  bool wants_gradient_ = true;  // the host, for the next step
  std::vector<std::span<float>> gradients_;
  std::vector<std::span<const float>> parameters_;  // of the part
  std::vector<double> rates_;
  std::size_t summed_ = 0;       // groups that are being added up, or were
  std::size_t handed_over_ = 0;  // groups that the part's method has
  std::size_t submitted_ = 0;    // its tensors
};

HostMethod::HostMethod(HostGroups& groups, std::vector<MethodTensor> tensors,
                       const ParsedMethod& method, const MethodOptions& options)
    : groups_(groups),
      method_(method),
      tensors_(std::move(tensors)),
      order_(tensors_),
      grouping_(tensors_, options.group_elements),
      parts_(cut_for_hosts(
          tensors_, method.host_parts.value_or(HostParts::one_rank),
          sending_places(tensors_, method.up.get(), options.host_part_bytes_min, groups.places))),
      sum_(groups, {.tensors = sizes_of(tensors_),
                    .parts = parts_,
                    .group_ends = ends_of(grouping_),
                    .hosts = groups.hosts()}),
      gradients_(tensors_.size()),
      parameters_(part().size()) {
  if (method_.traits.needs_old_gradient) {
    old_gradient_ = std::make_unique<OldGradient>(groups, tensors_);
  }
  if (!part().empty()) make_inner(options);
  const std::string own = name(inner_ ? inner_->topology() : topology_);
  topology_ = topology_of(groups.tell("the topology of its parts", own).front());
}

void HostMethod::make_inner(const MethodOptions& options) {
  std::vector<MethodTensor> own;
  for (const TensorPiece& piece : part()) {
    const MethodTensor& tensor = tensors_[piece.tensor];
    own.push_back({.name = tensor.name, .shape = shape_of_part(tensor, piece)});
  }
  inner_ = method_.make(*groups_.peers, std::move(own),
                        options_of_part(groups_, options, part(), parts_.size()));
}

template <class Work>
auto HostMethod::attempt(const Work& work) {
  try {
    return work();
  } catch (...) {
    order_.end();
    sum_.settle();
    if (old_gradient_) old_gradient_->settle();
    throw;
  }
}

// --- A step ---

StepContext HostMethod::context_of_part(const StepContext& context) {
  StepContext own = context;
  own.weight = groups_.weight();
  if (old_gradient_) {
    old_gradient_->begin(context.step, context.weight, context.gradient_at);
    own.gradient_at = [this](std::span<const std::span<const float>> parameters,
                             const TakeGradient& take) { old_gradient_->ask(parameters, take); };
  }
  rates_.clear();
  for (std::size_t i = 0; i < part().size(); ++i) {
    const TensorPiece& piece = part()[i];
    if (!context.learning_rates.empty()) rates_.push_back(context.learning_rates[piece.tensor]);
    if (context.parameters.empty()) continue;
    parameters_[i] = context.parameters[piece.tensor].subspan(piece.first, piece.elements);
  }
  own.learning_rates = rates_;
  own.parameters = context.parameters.empty()
                       ? std::span<const std::span<const float>>()
                       : std::span<const std::span<const float>>(parameters_);
  return own;
}

void HostMethod::begin(const StepContext& context) {
  order_.check_begin(context);
  if (method_.traits.needs_parameters && context.parameters.size() != tensors_.size()) {
    throw Error(spec() + " needs the parameters of every tensor in each step");
  }
  if (old_gradient_ && !context.gradient_at) {
    throw Error(spec() + " needs a way to compute gradients at older parameters");
  }
  weight_ = context.weight;
  context_ = context_of_part(context);
  summed_ = handed_over_ = submitted_ = 0;
  if (inner_) inner_->begin(context_);
  order_.begin();
}

// A group is handed over when the next one is complete: by then the other ranks of the host have
// submitted it, too. All ranks hand over at the same tensors, so their exchanges begin in the same
// order.
void HostMethod::submit(std::size_t tensor, std::span<float> gradient) {
  order_.submit(tensor, gradient);
  gradients_[tensor] = gradient;
  if (grouping_[summed_].end() != order_.submitted()) return;
  attempt([&] {
    sum_.start(summed_, context_.step, weight_, gradients_);
    hand_over(summed_++);
    if (summed_ == grouping_.size()) hand_over(summed_);
  });
}

// The first so many groups.
void HostMethod::hand_over(std::size_t groups) {
  for (; handed_over_ < groups; ++handed_over_) {
    sum_.wait(handed_over_);
    while (submitted_ < part().size() &&
           part()[submitted_].tensor < grouping_[handed_over_].end()) {
      inner_->submit(submitted_, sum_.part(part()[submitted_].tensor));
      ++submitted_;
    }
  }
}

std::vector<std::size_t> HostMethod::hosts_of(std::span<const std::size_t> peers) const {
  std::vector<std::size_t> hosts;
  for (const std::size_t peer : peers) hosts.push_back(groups_.host_of[groups_.peer_ranks[peer]]);
  std::ranges::sort(hosts);
  return hosts;
}

// A host is one worker: its ranks are late together.
std::vector<std::size_t> HostMethod::ranks_of(std::span<const std::size_t> hosts) const {
  std::vector<std::size_t> ranks;
  for (std::size_t rank = 0; rank < groups_.host_of.size(); ++rank) {
    if (std::ranges::binary_search(hosts, groups_.host_of[rank])) ranks.push_back(rank);
  }
  return ranks;
}

MethodReport HostMethod::finish() {
  order_.check_finish();
  return attempt([&] {
    if (old_gradient_ && !inner_) old_gradient_->serve();
    MethodReport report = inner_ ? inner_->finish() : MethodReport();
    if (old_gradient_ && inner_) old_gradient_->release();
    const PartFacts facts = sum_.gather(context_.step,
                                        {.exchanges = report.exchanges,
                                         .poisoned = report.poisoned,
                                         .uploads = report.uploads,
                                         .uploads_skipped = report.uploads_skipped,
                                         .wants_gradient = inner_ && inner_->wants_gradient(),
                                         .late_hosts = hosts_of(report.late)},
                                        gradients_);
    report.exchanges = facts.exchanges;
    report.poisoned = facts.poisoned;
    report.uploads = facts.uploads;
    report.uploads_skipped = facts.uploads_skipped;
    report.late = ranks_of(facts.late_hosts);
    wants_gradient_ = facts.wants_gradient;
    report.phases.exchange_seconds += sum_.take_seconds();
    order_.end();
    return report;
  });
}

// --- What is kept ---

// What tells this method's states from others; `state` is that of the part's method.
MethodState HostMethod::empty_state(MethodState state) const {
  MethodState own;
  own.spec = spec();
  own.topology = std::move(state.topology) + std::string(kBetweenHosts) + groups_.text() + ", in " +
                 std::to_string(parts_.size()) + " parts";
  own.rank = groups_.whole->rank();
  own.ranks = groups_.whole->size();
  to_whole_tensors(own, part(), tensors_);
  return own;
}

MethodState HostMethod::save() const {
  order_.check_between_steps("save()");
  MethodState inner = inner_ ? inner_->save() : MethodState();
  MethodState state = empty_state(inner);
  state.numbers = std::move(inner.numbers);
  state.blobs = std::move(inner.blobs);
  state.arrays = std::move(inner.arrays);
  to_whole_tensors(state, part(), tensors_);
  return state;
}

void HostMethod::load(const MethodState& given) {
  order_.check_between_steps("load()");
  MethodState inner = inner_ ? inner_->save() : MethodState();
  MethodState state = given;
  MethodState ours = empty_state(inner);
  if (state.is_reshared) {
    state.topology = state.topology.substr(0, state.topology.find(kBetweenHosts));
    ours.topology = inner_ ? inner.topology : state.topology;
  }
  check_state_fits(ours, state);
  if (!inner_) return;
  to_parts(state, part(), tensors_);
  state.topology = inner.topology;
  state.rank = inner.rank;
  state.ranks = inner.ranks;
  state.tensors = std::move(inner.tensors);
  inner_->load(state);
}

std::vector<TensorPiece> HostMethod::owned() const {
  std::vector<TensorPiece> pieces = inner_ ? inner_->owned() : std::vector<TensorPiece>();
  for (TensorPiece& piece : pieces) {
    const TensorPiece& of = part()[piece.tensor];
    piece.tensor = of.tensor;
    piece.first += of.first;
  }
  return pieces;
}

void HostMethod::rescale(float factor) {
  order_.check_between_steps("rescale()");
  check_rescale(factor);
  if (inner_) inner_->rescale(factor);
}

std::vector<std::uint64_t> HostMethod::tensor_bytes() const {
  std::vector<std::uint64_t> bytes(tensors_.size());
  const auto own = inner_ ? inner_->tensor_bytes() : std::vector<std::uint64_t>();
  if (inner_ && own.empty()) return {};
  for (std::size_t i = 0; i < own.size(); ++i) bytes[part()[i].tensor] = own[i];
  return bytes;
}

void check_options(const ParsedMethod& method, const MethodOptions& options) {
  if (traits_of(options.topology).has_server && !options.server_contributes) {
    throw Error(method.spec + ": a dedicated server has no place among hosts with several ranks: " +
                "take one level (hosts off), or a server with gradients");
  }
}

}  // namespace

std::unique_ptr<Method> make_host_method(HostGroups& groups, std::vector<MethodTensor> tensors,
                                         const ParsedMethod& method, const MethodOptions& options) {
  check_options(method, options);
  return std::make_unique<HostMethod>(groups, std::move(tensors), method, options);
}

}  // namespace gradwire
