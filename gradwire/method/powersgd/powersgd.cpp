#include "gradwire/method/powersgd/powersgd.h"

#include <utility>

#include "gradwire/codec/codec.h"
#include "gradwire/core/check.h"
#include "gradwire/core/error.h"
#include "gradwire/method/methods.h"
#include "gradwire/method/powersgd/group.h"
#include "gradwire/method/step_order.h"
#include "gradwire/method/tensor_groups.h"

namespace gradwire {
namespace {

constexpr MethodTraits kTraits{.has_memory = true};

class PowerSgd final : public Method {
 public:
  PowerSgd(Communicator& communicator, std::vector<MethodTensor> tensors,
           const PowerSgdOptions& powersgd, const MethodOptions& options);

  const std::string& spec() const override { return spec_; }
  MethodTraits traits() const override { return kTraits; }
  Topology topology() const override { return topology_; }

  void begin(const StepContext& context) override;
  void submit(std::size_t tensor, std::span<float> gradient) override;
  MethodReport finish() override;

  MethodState save() const override;
  void load(const MethodState& state) override;
  std::vector<TensorPiece> owned() const override { return {}; }
  void rescale(float factor) override;
  std::size_t memory_bytes() const override;
  std::vector<std::uint64_t> tensor_bytes() const override;

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
  StepOrder order_;
  Topology topology_;
  bool only_averages_;
  const TensorGroups grouping_;
  std::vector<std::unique_ptr<PowerSgdGroup>> groups_;

  StepContext context_;
  MethodReport report_;
};

PowerSgd::PowerSgd(Communicator& communicator, std::vector<MethodTensor> tensors,
                   const PowerSgdOptions& powersgd, const MethodOptions& options)
    : spec_(powersgd_spec(powersgd.rank)),
      rank_(communicator.rank()),
      ranks_(communicator.size()),
      tensors_(std::move(tensors)),
      order_(tensors_),
      grouping_(tensors_, options.group_elements) {
  if (powersgd.rank == 0) throw Error("powersgd needs a rank of at least 1");
  GW_CHECK(powersgd.ranks.empty() || powersgd.ranks.size() == tensors_.size());
  topology_ = options.topology != Topology::automatic
                  ? options.topology
                  : choose_topology(total_elements(tensors_), ranks_, *make_plain_codec(), nullptr);
  only_averages_ =
      traits_of(topology_).has_server && !options.server_contributes && options.server == rank_;
  make_groups(communicator, powersgd, options);
}

void PowerSgd::make_groups(Communicator& communicator, const PowerSgdOptions& powersgd,
                           const MethodOptions& options) {
  const std::shared_ptr<const Codec> plain = make_plain_codec();
  const ExchangeOptions exchange{.up = plain,
                                 .down = plain,
                                 .topology = topology_,
                                 .server = options.server,
                                 .server_contributes = options.server_contributes,
                                 .seed = options.seed,
                                 .segment_elements_max = options.segment_elements_max};
  const std::vector<std::size_t> factor_ranks =
      powersgd.ranks.empty() ? std::vector(tensors_.size(), powersgd.rank) : powersgd.ranks;
  for (const TensorGroup& group : grouping_) {
    const PowerSgdGroup::Setup setup{
        .first = group.first,
        .tensors = std::span(tensors_).subspan(group.first, group.count),
        .ranks = std::span(factor_ranks).subspan(group.first, group.count),
        .only_averages = only_averages_,
        .exchange = exchange};
    groups_.push_back(std::make_unique<PowerSgdGroup>(communicator, setup));
  }
}

template <class Work>
void PowerSgd::attempt(const Work& work) {
  try {
    work();
  } catch (...) {
    order_.end();
    for (const auto& group : groups_) group->abandon();
    throw;
  }
}

void PowerSgd::begin(const StepContext& context) {
  order_.check_begin(context);
  context_ = context;
  report_ = {};
  report_.uploads = only_averages_ ? 0 : 1;
  order_.begin();
}

void PowerSgd::submit(std::size_t tensor, std::span<float> gradient) {
  order_.submit(tensor, gradient);
  attempt([&] { groups_[grouping_.group_of(tensor)]->submit(gradient, context_, report_); });
}

MethodReport PowerSgd::finish() {
  order_.check_finish();
  attempt([&] {
    for (const auto& group : groups_) group->start_right(context_, report_);
    for (const auto& group : groups_) group->settle(context_, report_);
  });
  order_.end();
  return report_;
}

MethodState PowerSgd::description() const {
  MethodState state;
  state.spec = spec_;
  state.topology = name(topology_);
  state.rank = rank_;
  state.ranks = ranks_;
  for (const auto& [tensor, shape] : tensors_) state.tensors.push_back({tensor, shape});
  state.only_averages = only_averages_;
  return state;
}

MethodState PowerSgd::save() const {
  order_.check_between_steps("save()");
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
  check_state_fits(ours, state);
  for (const auto& group : groups_) {
    for (const LowRankTensor& matrix : group->matrices()) matrix.check(state);
  }
}

void PowerSgd::load(const MethodState& state) {
  order_.check_between_steps("load()");
  check_state(state);
  for (const auto& group : groups_) {
    for (LowRankTensor& matrix : group->matrices()) matrix.load(state);
  }
}

void PowerSgd::rescale(float factor) {
  order_.check_between_steps("rescale()");
  check_rescale(factor);
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

std::vector<std::uint64_t> PowerSgd::tensor_bytes() const {
  if (only_averages_) return std::vector<std::uint64_t>(tensors_.size());
  std::vector<std::uint64_t> bytes;
  for (const auto& group : groups_) {
    bytes.insert(bytes.end(), group->tensor_bytes().begin(), group->tensor_bytes().end());
  }
  return bytes;
}

ParsedMethod read_powersgd(MethodReader& reader) {
  const PowerSgdOptions options{.rank = read_factor_rank(reader.arguments())};
  reader.write("rank=" + std::to_string(options.rank));
  return {.spec = reader.finish(),
          .traits = kTraits,
          .factor_rank = options.rank,
          .make = [options](Communicator& communicator, std::vector<MethodTensor> tensors,
                            const MethodOptions& method) {
            return make_powersgd(communicator, std::move(tensors), options, method);
          }};
}

}  // namespace

std::size_t read_factor_rank(StageReader& stage) {
  return static_cast<std::size_t>(stage.integer("rank", 4, 1, 1024));
}

std::string powersgd_spec(std::size_t rank) {
  return "powersgd(rank=" + std::to_string(rank) + ')';
}

MethodEntry powersgd_method() {
  return {.name = "powersgd",
          .read = read_powersgd,
          .examples = {{"powersgd(rank=4)", 1, 0, "factors", any_topology(),
                        "matrices as products of two thin ones"}}};
}

std::unique_ptr<Method> make_powersgd(Communicator& communicator, std::vector<MethodTensor> tensors,
                                      const PowerSgdOptions& powersgd,
                                      const MethodOptions& options) {
  return std::make_unique<PowerSgd>(communicator, std::move(tensors), powersgd, options);
}

}  // namespace gradwire
