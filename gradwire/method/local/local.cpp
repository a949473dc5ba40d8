// local(C): workers take steps of their own, and exchange every H steps how far they moved. With g
// the common model and x_i the parameters of worker i:
//   d_i = g - x_i;  a_i = w_i d_i + b e_i;  c_i = C(a_i);  e_i = a_i - c_i
//   u = mean c_i;  m = mu m + u;  g -= nu (u + mu m)
//   x_i = g; where the mean arrives late, x_i = mix x_i + (1 - mix) g
// w_i is the share of the samples of worker i since the last exchange, times the number of workers.
// C and its memory are a method of their own, the inner method. The model is cut into fragments
// that are exchanged in turns. The first `after` steps average gradients.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "gradwire/core/error.h"
#include "gradwire/kernel/combine.h"
#include "gradwire/kernel/sums.h"
#include "gradwire/method/distance.h"
#include "gradwire/method/local/fragment.h"
#include "gradwire/method/local/options.h"
#include "gradwire/method/local/round_note.h"
#include "gradwire/method/memory.h"
#include "gradwire/method/methods.h"
#include "gradwire/method/step_order.h"

namespace gradwire {
namespace {

// Fragments of about the same size: each tensor, the largest first, goes to the smallest one. So
// neighbouring layers are apart, and no fragment has the biases alone.
std::vector<std::vector<std::size_t>> cut(const std::vector<MethodTensor>& tensors,
                                          const LocalOptions& local) {
  const std::size_t fragments = local.schedule.fragments;
  if (fragments > tensors.size()) {
    throw Error(local.spec + " cuts a model of " + std::to_string(tensors.size()) +
                " tensors into more fragments than that: take fewer");
  }
  std::vector<std::size_t> order(tensors.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater<>(),
                           [&](std::size_t i) { return tensors[i].elements(); });
  std::vector<std::vector<std::size_t>> which(fragments);
  std::vector<std::size_t> elements(fragments);
  for (const std::size_t tensor : order) {
    const auto least =
        static_cast<std::size_t>(std::ranges::min_element(elements) - elements.begin());
    which[least].push_back(tensor);
    elements[least] += tensors[tensor].elements();
  }
  for (auto& tensors_of : which) std::ranges::sort(tensors_of);
  return which;
}

MethodTraits traits_of(const LocalOptions& local) {
  return {.needs_parameters = true,
          .has_memory = true,
          .settles = MethodTraits::Settles::by_training,
          .output = MethodTraits::Output::model,
          .after = local.schedule.after,
          .every = local.schedule.every,
          .gain = local.outer.gain()};
}

class Local final : public Method {
 public:
  Local(Communicator& communicator, std::vector<MethodTensor> tensors, const LocalOptions& local,
        const MethodOptions& options);

  const std::string& spec() const override { return local_.spec; }
  MethodTraits traits() const override { return traits_of(local_); }
  Topology topology() const override { return fragments_.front()->exchange().topology(); }

  Input input(std::uint64_t step) const override {
    return step < local_.schedule.after ? Input::gradients : Input::parameters;
  }
  void begin(const StepContext& context) override;
  void submit(std::size_t tensor, std::span<float> values) override;
  MethodReport finish() override;

  MethodState save() const override;
  void load(const MethodState& state) override;
  std::vector<TensorPiece> owned() const override;
  // Parameters do not change with the scale of the loss.
  void rescale(float factor) override;
  std::size_t memory_bytes() const override;
  std::span<const float> model(std::size_t tensor) const override {
    return has_model_ ? model_.whole(tensor) : std::span<const float>();
  }

 private:
  MethodState empty_state() const;
  std::span<float> all_of(Memory& memory, std::size_t tensor) {
    return memory.at({.tensor = tensor, .first = 0, .elements = tensors_[tensor].elements()});
  }
  void begin_exchange(Fragment& fragment, std::uint64_t step);
  // `mix` is the share of this worker's own parameters.
  void take_mean(Fragment& fragment, float mix, MethodReport& report, LocalStepFacts& facts);

  const LocalOptions local_;
  const std::vector<MethodTensor> tensors_;
  StepOrder order_;
  std::unique_ptr<Method> dense_;
  std::vector<std::unique_ptr<Fragment>> fragments_;
  Memory model_;
  std::optional<Memory> momentum_;
  bool has_model_ = false;

  StepContext context_;
  std::vector<std::span<float>> parameters_;  // of the step
};

Local::Local(Communicator& communicator, std::vector<MethodTensor> tensors,
             const LocalOptions& local, const MethodOptions& options)
    : local_(local),
      tensors_(std::move(tensors)),
      order_(tensors_),
      dense_(local.dense.make(communicator, tensors_, options)),
      model_("model", Sharing::replicated, tensors_, MemoryUnit::parameter),
      parameters_(tensors_.size()) {
  std::size_t number = 0;
  for (auto& which : cut(tensors_, local)) {
    fragments_.push_back(std::make_unique<Fragment>("fragment " + std::to_string(number++) + ": ",
                                                    std::move(which), tensors_, communicator,
                                                    local.inner, options));
  }
  if (local.outer.momentum > 0) {
    momentum_.emplace("outer momentum", Sharing::replicated, tensors_, MemoryUnit::parameter);
  }
}

// --- A step ---

void Local::begin(const StepContext& context) {
  order_.check_begin(context);
  if (context.parameters.size() != tensors_.size()) {
    throw Error(spec() + " needs the parameters of every tensor in each step");
  }
  context_ = context;
  if (input(context.step) == Input::gradients) {
    dense_->begin(context);
  } else if (!has_model_) {  // all ranks have had the same parameters until now
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      std::ranges::copy(context.parameters[i], all_of(model_, i).begin());
    }
    has_model_ = true;
  }
  order_.begin();
}

void Local::submit(std::size_t tensor, std::span<float> values) {
  order_.submit(tensor, values);
  if (input(context_.step) == Input::gradients) return dense_->submit(tensor, values);
  parameters_[tensor] = values;
}

MethodReport Local::finish() {
  order_.check_finish();
  order_.end();
  LocalStepFacts facts;
  if (input(context_.step) == Input::gradients) {
    MethodReport report = dense_->finish();
    facts.kind = LocalStepFacts::Kind::synchronous;
    if (local_.inner.note == nullptr) report.note = make_local_note(facts);
    return report;
  }
  const LocalSchedule& schedule = local_.schedule;
  const std::uint64_t step = context_.step + 1 - schedule.after;
  if (step == 1) facts.every = schedule.every;
  MethodReport report;
  for (auto& fragment : fragments_) {
    fragment->count_step(context_.weight);
    const auto begun = fragment->begun();
    if (begun && (context_.is_last || step >= *begun + schedule.delay)) {
      take_mean(*fragment, local_.mix, report, facts);
    }
  }
  for (std::size_t i = 0; i < fragments_.size(); ++i) {
    if (context_.is_last || schedule.begins(i, step)) begin_exchange(*fragments_[i], step);
  }
  for (auto& fragment : fragments_) {
    const bool waits = context_.is_last || schedule.delay == 0;
    if (fragment->begun() && waits) take_mean(*fragment, 0, report, facts);
  }
  report.uploads = report.exchanges > 0 ? 1 : 0;
  if (local_.inner.note == nullptr) report.note = make_local_note(facts);
  return report;
}

void Local::begin_exchange(Fragment& fragment, std::uint64_t step) {
  for (std::size_t i = 0; i < fragment.tensors().size(); ++i) {
    const std::size_t tensor = fragment.tensors()[i];
    kernel::combine(1, model_.whole(tensor), -1, parameters_[tensor], fragment.values(i));
  }
  fragment.begin(step);
}

void Local::take_mean(Fragment& fragment, float mix, MethodReport& report, LocalStepFacts& facts) {
  const MethodReport exchange = fragment.arrive();
  report.add(exchange);
  if (exchange.note) report.note = exchange.note;
  facts.kind = LocalStepFacts::Kind::exchange;
  facts.fragments += 1;
  const auto nu = static_cast<float>(local_.outer.rate);
  const auto mu = static_cast<float>(local_.outer.momentum);
  double jump = 0;  // squared, from this worker's parameters to the new model
  for (std::size_t i = 0; i < fragment.tensors().size(); ++i) {
    const std::size_t tensor = fragment.tensors()[i];
    const std::span<float> mean = fragment.values(i);
    const std::span<float> model = all_of(model_, tensor);
    const std::span<float> own = parameters_[tensor];
    const auto is_finite = [](std::span<const float> values) {
      return kernel::is_finite_magnitude(kernel::largest_magnitude(values));
    };
    // A poisoned exchange leaves everything as it is: what workers moved by is sent next time. Only
    // those whose parameters are not finite start again from the common model.
    if (exchange.poisoned > 0 && !is_finite(mean)) {
      if (!is_finite(own)) std::ranges::copy(model, own.begin());
      continue;
    }
    if (momentum_) {
      const std::span<float> momentum = all_of(*momentum_, tensor);
      kernel::combine(mu, momentum, 1, mean, momentum);
      kernel::combine(1, mean, mu, momentum, mean);
    }
    kernel::combine(1, model, -nu, mean, model);
    jump += distance_squared(own, model);
    if (mix == 0) {
      std::ranges::copy(model, own.begin());
    } else {
      kernel::combine(mix, own, 1 - mix, model, own);
    }
  }
  if (fragment.moved_squared() > 0) facts.drift = std::sqrt(jump / fragment.moved_squared());
}

// --- What is kept ---

// What tells this method's states from others.
MethodState Local::empty_state() const {
  MethodState state = fragments_.front()->exchange().save();
  state.spec = spec();
  state.arrays.clear();
  state.numbers.clear();
  state.blobs.clear();
  state.tensors.clear();
  for (const auto& [tensor, shape] : tensors_) state.tensors.push_back({tensor, shape});
  return state;
}

MethodState Local::save() const {
  order_.check_between_steps("save()");
  MethodState parts;
  for (const auto& fragment : fragments_) fragment->save(parts);
  MethodState state = empty_state();
  state.arrays = std::move(parts.arrays);
  state.numbers = std::move(parts.numbers);
  state.blobs = std::move(parts.blobs);
  model_.save(state);
  if (momentum_) momentum_->save(state);
  state.numbers["has model"] = has_model_ ? 1 : 0;
  return state;
}

void Local::load(const MethodState& state) {
  order_.check_between_steps("load()");
  MethodState unused;
  for (auto& fragment : fragments_) fragment->save(unused);  // nothing is under way then
  check_state_fits(empty_state(), state);
  const auto has_model = state.numbers.find("has model");
  if (has_model == state.numbers.end()) throw Error("the saved state has no common model");
  model_.check(state);
  if (momentum_) momentum_->check(state);
  MethodState inner = state;
  std::erase_if(inner.arrays, [](const StateArray& array) {
    return array.memory == "model" || array.memory == "outer momentum";
  });
  for (auto& fragment : fragments_) fragment->load(inner);
  model_.load(state);
  if (momentum_) momentum_->load(state);
  has_model_ = has_model->second != 0;
}

std::vector<TensorPiece> Local::owned() const {
  std::vector<TensorPiece> pieces;
  for (const auto& fragment : fragments_) {
    for (TensorPiece piece : fragment->exchange().owned()) {
      piece.tensor = fragment->tensors()[piece.tensor];
      pieces.push_back(piece);
    }
  }
  return pieces;
}

void Local::rescale(float factor) {
  order_.check_between_steps("rescale()");
  check_rescale(factor);
  dense_->rescale(factor);
}

std::size_t Local::memory_bytes() const {
  std::size_t bytes =
      dense_->memory_bytes() + model_.bytes() + (momentum_ ? momentum_->bytes() : 0);
  for (const auto& fragment : fragments_) bytes += fragment->memory_bytes();
  return bytes;
}

ParsedMethod read_local(MethodReader& reader) {
  const LocalOptions options = read_local_options(reader);
  return {.spec = options.spec,
          .traits = traits_of(options),
          .up = options.inner.up,
          .down = options.inner.down,
          .factor_rank = options.inner.factor_rank,
          .exchanged_by = options.inner.spec,
          .note = options.inner.note != nullptr ? options.inner.note : &local_note_kind(),
          .host_parts = HostParts::inside,
          .make = [options](Communicator& communicator, std::vector<MethodTensor> tensors,
                            const MethodOptions& method) {
            return std::make_unique<Local>(communicator, std::move(tensors), options, method);
          }};
}

}  // namespace

MethodEntry local_method() {
  return {.name = "local",
          .read = read_local,
          .examples = {{"local(topk(1%, chunk=4096) | twobit, every=30)", 3, 1, "",
                        topologies_with_messages(),
                        "workers take steps of their own; how far they moved is averaged every 30 "
                        "steps"}}};
}

}  // namespace gradwire
