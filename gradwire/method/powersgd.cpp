#include "gradwire/method/powersgd.h"

#include <cmath>
#include <set>
#include <utility>

#include "gradwire/codec/codec.h"
#include "gradwire/core/check.h"
#include "gradwire/core/error.h"
#include "gradwire/method/powersgd_group.h"

namespace gradwire {
namespace {

std::vector<StateTensor> state_tensors(const std::vector<MethodTensor>& tensors) {
  std::vector<StateTensor> list;
  std::set<std::string> names;
  for (const MethodTensor& tensor : tensors) {
    list.push_back({tensor.name, tensor.shape});
    if (names.insert(tensor.name).second) continue;
    throw Error("two tensors are called '" + tensor.name + "': names tell their memories apart");
  }
  return list;
}

std::size_t total_elements(const std::vector<MethodTensor>& tensors) {
  std::size_t elements = 0;
  for (const MethodTensor& tensor : tensors) elements += tensor.elements();
  return elements;
}

class PowerSgd final : public Method {
 public:
  PowerSgd(Communicator& communicator, std::vector<MethodTensor> tensors,
           const PowerSgdOptions& powersgd, const MethodOptions& options);

  const std::string& spec() const override { return spec_; }
  MethodTraits traits() const override { return {}; }
  Topology topology() const override { return topology_; }

  void begin(const StepContext& context) override;
  void submit(std::size_t tensor, std::span<float> gradient) override;
  MethodReport finish() override;

  MethodState save() const override;
  void load(const MethodState& state) override;
  std::vector<TensorPiece> owned() const override { return {}; }
  void rescale(float factor) override;
  std::size_t memory_bytes() const override;

 private:
  void make_groups(Communicator& communicator, const PowerSgdOptions& powersgd,
                   const MethodOptions& options);
  // A state without memories.
  MethodState description() const;
  void check_state(const MethodState& state) const;

  // Calls work(); where that throws, the step is over.
  template <class Work>
  void attempt(const Work& work);

  std::string spec_;
  std::size_t rank_;
  std::size_t ranks_;
  std::vector<MethodTensor> tensors_;
  std::vector<StateTensor> state_tensors_;
  Topology topology_;
  bool is_silent_;
  std::vector<std::unique_ptr<PowerSgdGroup>> groups_;
  std::vector<std::size_t> group_of_;  // by tensor

  StepContext context_;
  MethodReport report_;
  std::size_t submitted_ = 0;
  bool is_begun_ = false;
};

PowerSgd::PowerSgd(Communicator& communicator, std::vector<MethodTensor> tensors,
                   const PowerSgdOptions& powersgd, const MethodOptions& options)
    : spec_("powersgd(rank=" + std::to_string(powersgd.rank) + ')'),
      rank_(communicator.rank()),
      ranks_(communicator.size()),
      tensors_(std::move(tensors)),
      state_tensors_(state_tensors(tensors_)) {
  if (powersgd.rank == 0) throw Error("powersgd needs a rank of at least 1");
  topology_ = options.topology != Topology::automatic
                  ? options.topology
                  : choose_topology(total_elements(tensors_), ranks_, *make_codec("none"), nullptr);
  is_silent_ =
      topology_ == Topology::server && !options.server_contributes && options.server == rank_;
  make_groups(communicator, powersgd, options);
}

void PowerSgd::make_groups(Communicator& communicator, const PowerSgdOptions& powersgd,
                           const MethodOptions& options) {
  const std::shared_ptr<const Codec> none = make_codec("none");
  const ExchangeOptions exchange{.up = none,
                                 .down = none,
                                 .topology = topology_,
                                 .server = options.server,
                                 .server_contributes = options.server_contributes,
                                 .seed = options.seed,
                                 .segment_elements_max = options.segment_elements_max};
  for (std::size_t first = 0; first < tensors_.size(); first = group_of_.size()) {
    std::size_t elements = 0;
    while (group_of_.size() < tensors_.size() &&
           (group_of_.size() == first || elements < options.group_elements)) {
      elements += tensors_[group_of_.size()].elements();
      group_of_.push_back(groups_.size());
    }
    const PowerSgdGroup::Setup setup{
        .tensors = std::span(tensors_).subspan(first, group_of_.size() - first),
        .rank = powersgd.rank,
        .is_silent = is_silent_,
        .exchange = exchange};
    groups_.push_back(std::make_unique<PowerSgdGroup>(communicator, setup));
  }
}

template <class Work>
void PowerSgd::attempt(const Work& work) {
  try {
    work();
  } catch (...) {
    is_begun_ = false;
    for (const auto& group : groups_) group->abandon();
    throw;
  }
}

void PowerSgd::begin(const StepContext& context) {
  if (is_begun_) throw Error("a step was begun before the last one was finished");
  context_ = context;
  report_ = {};
  report_.uploads = is_silent_ ? 0 : 1;
  submitted_ = 0;
  is_begun_ = true;
}

void PowerSgd::submit(std::size_t tensor, std::span<float> gradient) {
  if (!is_begun_) throw Error("a gradient was submitted before its step was begun");
  if (tensor != submitted_ || tensor >= tensors_.size()) {
    throw Error("tensor " + std::to_string(tensor) + " was submitted as number " +
                std::to_string(submitted_) + " of " + std::to_string(tensors_.size()));
  }
  if (gradient.size() != tensors_[tensor].elements()) {
    throw Error("tensor '" + tensors_[tensor].name + "' has " +
                std::to_string(tensors_[tensor].elements()) + " elements, but its gradient has " +
                std::to_string(gradient.size()));
  }
  ++submitted_;
  attempt([&] { groups_[group_of_[tensor]]->submit(gradient, context_, report_); });
}

MethodReport PowerSgd::finish() {
  if (!is_begun_) throw Error("there is no step to finish");
  if (submitted_ != tensors_.size()) {
    throw Error("only " + std::to_string(submitted_) + " of " + std::to_string(tensors_.size()) +
                " tensors were submitted");
  }
  attempt([&] {
    for (const auto& group : groups_) group->start_right(context_, report_);
    for (const auto& group : groups_) group->settle(context_, report_);
  });
  is_begun_ = false;
  return report_;
}

MethodState PowerSgd::description() const {
  MethodState state;
  state.spec = spec_;
  state.topology = name(topology_);
  state.rank = rank_;
  state.ranks = ranks_;
  state.tensors = state_tensors_;
  state.is_silent = is_silent_;
  return state;
}

MethodState PowerSgd::save() const {
  GW_CHECK(!is_begun_);
  MethodState state = description();
  for (const auto& group : groups_) {
    for (const LowRankTensor& matrix : std::as_const(*group).matrices()) matrix.save(state);
  }
  return state;
}

// What this rank remembers means the same on every topology.
void PowerSgd::check_state(const MethodState& state) const {
  MethodState ours = description();
  ours.topology = state.topology;
  check_fit(ours, state);
  for (const auto& group : groups_) {
    for (const LowRankTensor& matrix : group->matrices()) matrix.check(state);
  }
}

void PowerSgd::load(const MethodState& state) {
  GW_CHECK(!is_begun_);
  check_state(state);
  for (const auto& group : groups_) {
    for (LowRankTensor& matrix : group->matrices()) matrix.load(state);
  }
}

void PowerSgd::rescale(float factor) {
  GW_CHECK(!is_begun_);
  if (!std::isfinite(factor) || factor <= 0) {
    throw Error("gradients cannot be rescaled by " + std::to_string(factor));
  }
  for (const auto& group : groups_) {
    for (LowRankTensor& matrix : group->matrices()) matrix.rescale(factor);
  }
}

std::size_t PowerSgd::memory_bytes() const {
  std::size_t bytes = 0;
  for (const auto& group : groups_) {
    for (const LowRankTensor& matrix : std::as_const(*group).matrices()) {
      bytes += matrix.memory_bytes();
    }
  }
  return bytes;
}

}  // namespace

std::unique_ptr<Method> make_powersgd(Communicator& communicator, std::vector<MethodTensor> tensors,
                                      const PowerSgdOptions& powersgd,
                                      const MethodOptions& options) {
  return std::make_unique<PowerSgd>(communicator, std::move(tensors), powersgd, options);
}

}  // namespace gradwire
