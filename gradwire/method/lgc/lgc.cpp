#include "gradwire/method/lgc/lgc.h"

#include <algorithm>
#include <exception>
#include <limits>

#include "gradwire/codec/spec.h"
#include "gradwire/core/error.h"
#include "gradwire/method/lgc/code_note.h"
#include "gradwire/method/lgc/coded_layers.h"
#include "gradwire/method/lgc/dense_layers.h"
#include "gradwire/method/lgc/phases.h"
#include "gradwire/method/lgc/tensor_roles.h"
#include "gradwire/method/methods.h"
#include "gradwire/method/step_order.h"
#include "gradwire/method/tensor_rates.h"

namespace gradwire {
namespace {

void check_options(const LgcOptions& lgc, const std::vector<TensorRole>& roles,
                   std::size_t elements, const MethodOptions& options) {
  if (traits_of(options.topology).has_server && !options.server_contributes) {
    throw Error(lgc.spec + " needs gradients on the server, too: it is a leader in its turn");
  }
  if (elements > std::numeric_limits<std::uint32_t>::max()) {
    throw Error(lgc.spec + " counts indices in 32 bits, and the model has more elements");
  }
  if (std::ranges::find(roles, TensorRole::coded) == roles.end()) {
    throw Error(lgc.spec +
                " has nothing to code: beside its first and last layer the model has no tensor of "
                "two dimensions and 256 elements. Take dgc or ef(topk(1%))");
  }
}

constexpr MethodTraits kTraits{.has_memory = true, .settles = MethodTraits::Settles::by_training};

class Lgc final : public Method {
 public:
  Lgc(Communicator& communicator, std::vector<MethodTensor> tensors, const LgcOptions& lgc,
      const MethodOptions& options);

  const std::string& spec() const override { return lgc_.spec; }
  MethodTraits traits() const override { return kTraits; }
  Topology topology() const override { return coded_->topology(); }

  void begin(const StepContext& context) override;
  void submit(std::size_t tensor, std::span<float> gradient) override;
  MethodReport finish() override;

  MethodState save() const override;
  void load(const MethodState& state) override;
  std::vector<TensorPiece> owned() const override { return {}; }
  void rescale(float factor) override;
  std::size_t memory_bytes() const override;

 private:
  std::vector<std::size_t> indices_by(TensorRole role) const;
  std::vector<MethodTensor> tensors_by(TensorRole role) const;
  MethodReport finish_full(CodeNote& note);
  MethodReport finish_parts(CodeNote& note);
  MethodState description() const;

  const LgcOptions lgc_;
  const std::size_t rank_;
  const std::size_t ranks_;
  const std::vector<MethodTensor> tensors_;
  const std::vector<TensorRole> roles_;
  std::vector<std::size_t> position_of_;  // of a tensor, among those of the same role
  StepOrder order_;
  LgcPhases phases_;

  std::unique_ptr<Method> full_;  // all tensors
  std::unique_ptr<DenseLayers> dense_;
  std::unique_ptr<Method> last_;  // null without such a tensor
  std::unique_ptr<CodedLayers> coded_;

  StepContext context_;
  TensorRates last_rates_;
  TensorRates coded_rates_;
  std::vector<std::span<float>> coded_gradients_;  // of this step
};

Lgc::Lgc(Communicator& communicator, std::vector<MethodTensor> tensors, const LgcOptions& lgc,
         const MethodOptions& options)
    : lgc_(lgc),
      rank_(communicator.rank()),
      ranks_(communicator.size()),
      tensors_(std::move(tensors)),
      roles_(tensor_roles(tensors_)),
      order_(tensors_),
      phases_(lgc.phases) {
  check_options(lgc_, roles_, total_elements(tensors_), options);
  for (std::size_t i = 0; i < roles_.size(); ++i) {
    const auto before = std::span(roles_).first(i);
    position_of_.push_back(static_cast<std::size_t>(std::ranges::count(before, roles_[i])));
  }
  // A ring is for codes; what is beside them goes as it always would.
  MethodOptions beside = options;
  if (traits_of(options.topology).passes_sums) beside.topology = Topology::automatic;
  full_ = make_method(communicator, tensors_, "none", beside);
  dense_ = std::make_unique<DenseLayers>(communicator, tensors_by(TensorRole::dense), beside);
  // Everybody to everybody: there is no second rounding, and no memory of an owner.
  beside.topology = Topology::gather;
  const std::vector<MethodTensor> last = tensors_by(TensorRole::last);
  const std::string spec_of_last = "ef(topk(" + format_share(lgc_.share) + ") | natural)";
  if (!last.empty()) last_ = make_method(communicator, last, spec_of_last, beside);
  const std::vector<MethodTensor> coded = tensors_by(TensorRole::coded);
  coded_gradients_.resize(coded.size());
  coded_ = std::make_unique<CodedLayers>(communicator, coded, lgc_, options);
}

std::vector<std::size_t> Lgc::indices_by(TensorRole role) const {
  std::vector<std::size_t> some;
  for (std::size_t i = 0; i < roles_.size(); ++i) {
    if (roles_[i] == role) some.push_back(i);
  }
  return some;
}

std::vector<MethodTensor> Lgc::tensors_by(TensorRole role) const {
  std::vector<MethodTensor> some;
  for (const std::size_t i : indices_by(role)) some.push_back(tensors_[i]);
  return some;
}

// --- A step ---

void Lgc::begin(const StepContext& context) {
  order_.check_begin(context);
  context_ = context;
  if (phases_.phase() == LgcPhase::full) {
    full_->begin(context);
  } else {
    dense_->begin(context);
    if (last_) last_->begin(last_rates_.select(context, indices_by(TensorRole::last)));
  }
  order_.begin();
}

void Lgc::submit(std::size_t tensor, std::span<float> gradient) {
  order_.submit(tensor, gradient);
  if (phases_.phase() == LgcPhase::full) {
    full_->submit(tensor, gradient);
    return;
  }
  switch (roles_[tensor]) {
    case TensorRole::dense:
      dense_->submit(gradient);
      break;
    case TensorRole::last:
      last_->submit(position_of_[tensor], gradient);
      break;
    case TensorRole::coded:
      coded_gradients_[position_of_[tensor]] = gradient;
      break;
  }
}

MethodReport Lgc::finish() {
  order_.check_finish();
  order_.end();
  CodeNote note{.phase = name(phases_.phase())};
  MethodReport report = phases_.phase() == LgcPhase::full ? finish_full(note) : finish_parts(note);
  report.note = std::make_shared<Note>(to_note(note));
  return report;
}

MethodReport Lgc::finish_full(CodeNote& note) {
  const MethodReport report = full_->finish();
  note.parts = {{"places", 0},
                {"values", 0},
                {"codes", 0},
                {"dense", report.traffic.bytes_sent},
                {"last", 0}};
  if (report.poisoned == 0) phases_.end_step();
  return report;
}

MethodReport Lgc::finish_parts(CodeNote& note) {
  const bool is_exact = phases_.phase() == LgcPhase::sparse || phases_.is_refresh();
  // All of what was started is waited for: the first failure is the cause.
  std::exception_ptr failure;
  const auto wait = [&](auto& part) {
    try {
      return part.finish();
    } catch (const std::exception&) {
      if (!failure) failure = std::current_exception();
      return MethodReport{};
    }
  };
  const MethodReport dense = wait(*dense_);
  const MethodReport last = last_ ? wait(*last_) : MethodReport{};
  if (failure) std::rethrow_exception(failure);
  const CodedLayers::Outcome coded = coded_->run(
      coded_rates_.select(context_, indices_by(TensorRole::coded)), coded_gradients_, is_exact);
  MethodReport report = coded.report;
  report.add(dense);
  report.add(last);
  note.parts = {{"places", coded.index_bytes},
                {"values", coded.value_bytes},
                {"codes", coded.code_bytes},
                {"dense", dense.traffic.bytes_sent},
                {"last", last.traffic.bytes_sent}};
  note.error = coded.error;
  note.is_estimate = coded.is_estimate;
  note.learn_seconds = coded.learn_seconds;
  if (coded.report.poisoned == 0) note.remark = phases_.end_step(coded.error);
  return report;
}

// --- What is kept ---

MethodState Lgc::description() const {
  MethodState state;
  state.spec = spec();
  state.topology = name(topology());
  state.rank = rank_;
  state.ranks = ranks_;
  for (const auto& [tensor, shape] : tensors_) state.tensors.push_back({tensor, shape});
  return state;
}

MethodState Lgc::save() const {
  order_.check_between_steps("save()");
  MethodState state = description();
  phases_.save(state);
  coded_->save(state);
  if (last_) {
    MethodState last = last_->save();
    std::ranges::move(last.arrays, std::back_inserter(state.arrays));
    state.numbers.merge(last.numbers);
  }
  return state;
}

void Lgc::load(const MethodState& state) {
  order_.check_between_steps("load()");
  MethodState ours = description();
  ours.topology = state.topology;  // what is remembered means the same on all
  check_state_fits(ours, state);
  LgcPhases phases = phases_;
  phases.load(state);
  coded_->check(state);
  if (last_) {
    MethodState last = last_->save();
    for (StateArray& array : last.arrays) {
      array.values = whole_array(state, array.memory, array.tensor, array.values.size()).values;
    }
    for (auto& [key, number] : last.numbers) {
      const auto found = state.numbers.find(key);
      if (found != state.numbers.end()) number = found->second;
    }
    last_->load(last);
  }
  if (!coded_->load(state)) phases.restart();
  phases_ = phases;
}

void Lgc::rescale(float factor) {
  order_.check_between_steps("rescale()");
  check_rescale(factor);
  coded_->rescale(factor);
  if (last_) last_->rescale(factor);
}

std::size_t Lgc::memory_bytes() const {
  return coded_->memory_bytes() + (last_ ? last_->memory_bytes() : 0);
}

ParsedMethod read_lgc(MethodReader& reader) {
  const LgcOptions lgc = read_lgc_options(reader);
  return {.spec = lgc.spec,
          .traits = kTraits,
          .note = &code_note_kind(),
          .host_parts = HostParts::one_rank,
          .make = [lgc](Communicator& communicator, std::vector<MethodTensor> tensors,
                        const MethodOptions& options) {
            return make_lgc(communicator, std::move(tensors), lgc, options);
          }};
}

}  // namespace

std::unique_ptr<Method> make_lgc(Communicator& communicator, std::vector<MethodTensor> tensors,
                                 const LgcOptions& lgc, const MethodOptions& options) {
  return std::make_unique<Lgc>(communicator, std::move(tensors), lgc, options);
}

MethodEntry lgc_method() {
  return {.name = "lgc",
          .read = read_lgc,
          .examples = {{"lgc(ring)", 1, 0, "a code", "ring, gather, server",
                        "values at shared indices by a code that is learned while training"},
                       {"lgc(server)", 1, 0, "a code", "gather, server",
                        "the same, with one rank's code for all and what is new with each"}}};
}

}  // namespace gradwire
