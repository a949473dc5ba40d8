// adam(C): 1-bit Adam with the refreshes of 0/1 Adam. With d = sqrt(v / (1 - b2^u)) + eps, where u
// steps have updated v:
//   warm-up, refresh:  g = mean g_i;  m = b1 m + (1 - b1) g;  v = b2 v + (1 - b2) g^2
//   compressed:        a_i = (b1 m + (1 - b1) g_i) / d + e_i;  c_i = C(a_i);  e_i = a_i - c_i
//                      m = d mean c_i
//   out = rate m / ((1 - b1^t) d) + rate decay x
// where |g_i / d| is limited to sqrt(N / (1 - b2)) in compressed steps.
// The codec sees what Adam applies, not the momentum: all elements then count by what they move.
// C and its memory are a method of their own, the inner method. With send=gradient it gets g_i / d,
// and m = b1 m + (1 - b1) d mean c_i.
#include "gradwire/kernel/adam.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "gradwire/collective/host_groups.h"
#include "gradwire/core/error.h"
#include "gradwire/kernel/combine.h"
#include "gradwire/kernel/sums.h"
#include "gradwire/method/adam/options.h"
#include "gradwire/method/adam/phase_note.h"
#include "gradwire/method/adam/whole_norms.h"
#include "gradwire/method/memory.h"
#include "gradwire/method/methods.h"
#include "gradwire/method/step_order.h"

namespace gradwire {
namespace {

std::vector<MomentSettings> moments_of(const AdamOptions& adam, const MethodOptions& options,
                                       std::size_t tensors) {
  if (options.moments.empty()) return std::vector(tensors, adam.moments);
  if (options.moments.size() != tensors) {
    throw Error(adam.spec + " was given settings for " + std::to_string(options.moments.size()) +
                " tensors, and there are " + std::to_string(tensors));
  }
  for (const MomentSettings& moments : options.moments) {
    const auto is_share = [](double beta) { return beta >= 0 && beta < 1; };
    if (is_share(moments.beta1) && is_share(moments.beta2) && moments.epsilon > 0 &&
        moments.decay >= 0 && std::isfinite(moments.decay)) {
      continue;
    }
    throw Error(adam.spec +
                " needs betas from 0 to below 1, an epsilon above 0 and a decay from 0 on");
  }
  return options.moments;
}

// By multiplications alone, whose bits are the same on every machine.
double power(double base, std::uint64_t exponent) {
  double result = 1;
  for (; exponent > 0; exponent /= 2, base *= base) {
    if (exponent % 2 == 1) result *= base;
  }
  return result;
}

// Mean squares look back over 1 / (1 - beta2) steps.
AdamSchedule schedule_of(AdamSchedule schedule, std::span<const MomentSettings> moments) {
  double beta2 = 0;
  for (const MomentSettings& settings : moments) beta2 = std::max(beta2, settings.beta2);
  schedule.window = static_cast<std::uint64_t>(std::llround(std::min(1e9, 1 / (1 - beta2))));
  return schedule;
}

MethodTraits traits_of(const AdamOptions& adam, std::span<const MomentSettings> moments) {
  return {.needs_whole_gradient = adam.clip.has_value() || adam.inner.traits.needs_whole_gradient,
          .owns_momentum = true,
          .owns_moments = true,
          .needs_parameters = std::ranges::any_of(
              moments, [](const MomentSettings& settings) { return settings.decay > 0; }),
          .has_memory = true,
          .settles = MethodTraits::Settles::by_training,
          .output = MethodTraits::Output::update};
}

// By how much the mean squares of gradients that went through a codec are too large.
std::vector<double> square_excess(const ParsedMethod& dense, const Method& method,
                                  const std::vector<MethodTensor>& tensors, std::size_t ranks) {
  const auto factor = [](const Guarantee& guarantee) {
    return guarantee.kind == Guarantee::Kind::unbiased ? 1 + guarantee.constant : 1.0;
  };
  std::vector<double> excess;
  for (const MethodTensor& tensor : tensors) {
    const StepNoise noise = step_noise(*dense.up, *dense.down,
                                       {.workers = ranks,
                                        .ranks = ranks,
                                        .elements = tensor.elements(),
                                        .topology = method.topology()});
    excess.push_back(factor(noise.up) * (noise.down ? factor(*noise.down) : 1));
  }
  return excess;
}

// The vectors that are rounded: where hosts have several ranks, one of each host.
std::size_t senders(Communicator& communicator) {
  const HostGroups* const groups = communicator.hosts();
  return groups == nullptr ? communicator.size() : groups->hosts();
}

// With mean squares that follow, |g| / sqrt(v) is at most 1 / sqrt(1 - b2). With those that stay,
// an element whose gradients were zero in the warm-up has no limit, and a codec with one scale for
// a whole tensor makes all others as large. One worker's gradient is sqrt(workers) times as noisy
// as the mean.
std::vector<float> limits_of(std::span<const MomentSettings> moments, std::size_t workers) {
  std::vector<float> limits;
  for (const MomentSettings& settings : moments) {
    const double most = std::sqrt(static_cast<double>(workers) / (1 - settings.beta2));
    limits.push_back(static_cast<float>(most));
  }
  return limits;
}

class Adam final : public Method {
 public:
  Adam(Communicator& communicator, std::vector<MethodTensor> tensors, const AdamOptions& adam,
       const MethodOptions& options);

  const std::string& spec() const override { return adam_.spec; }
  MethodTraits traits() const override { return traits_of(adam_, moments_); }
  Topology topology() const override { return inner_->topology(); }

  void begin(const StepContext& context) override;
  void submit(std::size_t tensor, std::span<float> gradient) override;
  MethodReport finish() override;

  MethodState save() const override;
  void load(const MethodState& state) override;
  std::vector<TensorPiece> owned() const override { return inner_->owned(); }
  void rescale(float factor) override;
  std::size_t memory_bytes() const override;
  std::vector<std::uint64_t> tensor_bytes() const override { return active().tensor_bytes(); }

 private:
  bool is_compressed() const { return phase_ == AdamPhase::compressed; }
  Method& active() const { return is_compressed() ? *inner_ : *dense_; }
  double largest_rate() const;

  void pass_on(std::size_t tensor);
  void take_dense();
  void take_compressed(bool is_poisoned);
  void add_decay(std::size_t tensor);

  kernel::AdamDivisor divisor(std::size_t tensor, std::uint64_t updates) const;
  float step_length(std::size_t tensor) const;
  double squares_norm(std::uint64_t updates) const;
  std::span<float> all_of(Memory& memory, std::size_t tensor) {
    return memory.at({.tensor = tensor, .first = 0, .elements = tensors_[tensor].elements()});
  }

  const AdamOptions adam_;
  const std::vector<MethodTensor> tensors_;
  const std::vector<MomentSettings> moments_;  // by tensor
  StepOrder order_;
  std::unique_ptr<Method> inner_;
  std::unique_ptr<Method> dense_;
  const std::vector<double> excess_;  // of squares in dense steps, by tensor
  const std::vector<float> limits_;   // of a gradient over the divisor, by tensor
  Memory means_;
  Memory squares_;
  AdamPhases phases_;
  WholeNorms norms_;  // for clipping

  StepContext context_;
  AdamPhase phase_ = AdamPhase::warmup;  // of this step
  std::vector<std::span<float>> values_;
  float own_scale_ = 1;  // that clips this worker's gradient in a compressed step
};

Adam::Adam(Communicator& communicator, std::vector<MethodTensor> tensors, const AdamOptions& adam,
           const MethodOptions& options)
    : adam_(adam),
      tensors_(std::move(tensors)),
      moments_(moments_of(adam, options, tensors_.size())),
      order_(tensors_),
      inner_(adam.inner.make(communicator, tensors_, options)),
      dense_(adam.dense.make(communicator, tensors_, options)),
      excess_(square_excess(adam.dense, *dense_, tensors_, senders(communicator))),
      limits_(limits_of(moments_, communicator.size())),
      means_("first moment", Sharing::replicated, tensors_),
      squares_("second moment", Sharing::replicated, tensors_),
      phases_(schedule_of(adam.schedule, moments_)),
      values_(tensors_.size()) {}

// --- A step ---

double Adam::largest_rate() const {
  return context_.learning_rates.empty() ? context_.learning_rate
                                         : std::ranges::max(context_.learning_rates);
}

void Adam::begin(const StepContext& context) {
  order_.check_begin(context);
  if (traits().needs_parameters && context.parameters.size() != tensors_.size()) {
    throw Error(spec() + " needs the parameters of every tensor in each step, for its decay");
  }
  context_ = context;
  phase_ = phases_.next(largest_rate());
  own_scale_ = 1;
  // The inner method sees directions, not gradients: they have no learning rate, and the weight is
  // in them.
  active().begin({.step = context.step, .weight = is_compressed() ? 1 : context.weight});
  order_.begin();
}

void Adam::submit(std::size_t tensor, std::span<float> gradient) {
  order_.submit(tensor, gradient);
  values_[tensor] = gradient;
  if (!adam_.clip) pass_on(tensor);
}

void Adam::pass_on(std::size_t tensor) {
  const std::span<float> values = values_[tensor];
  if (is_compressed()) {
    const auto beta1 = static_cast<float>(moments_[tensor].beta1);
    const float share = adam_.sends_momentum ? 1 - beta1 : 1;
    const kernel::AdamParts parts{.a = adam_.sends_momentum ? beta1 : 0,
                                  .b = share * own_scale_ * context_.weight,
                                  .limit = share * limits_[tensor]};
    kernel::adam_divide(divisor(tensor, phases_.updates()), parts, all_of(means_, tensor),
                        all_of(squares_, tensor), values);
  }
  active().submit(tensor, values);
}

MethodReport Adam::finish() {
  order_.check_finish();
  order_.end();
  if (adam_.clip) {
    norms_.measure_own(values_, context_.weight);
    if (is_compressed()) own_scale_ = norms_.own_scale(*adam_.clip);
    for (std::size_t i = 0; i < tensors_.size(); ++i) pass_on(i);
  }
  MethodReport report = active().finish();
  const bool is_poisoned = report.poisoned > 0;
  const std::uint64_t steps = phases_.steps();
  const bool is_first = phases_.is_warm() && phase_ != AdamPhase::warmup;
  if (is_compressed()) {
    take_compressed(is_poisoned);
  } else if (is_poisoned) {
    // Other tensors than those that were hit would be a step ahead.
    for (const auto& values : values_) {
      std::ranges::fill(values, std::numeric_limits<float>::quiet_NaN());
    }
  } else {
    take_dense();
  }
  if (!is_poisoned) {
    phases_.commit(phase_, largest_rate(),
                   phase_ == AdamPhase::warmup ? squares_norm(phases_.updates() + 1) : 0);
  }
  if (adam_.inner.note == nullptr) report.note = make_adam_note(phase_, steps, is_first);
  return report;
}

void Adam::take_dense() {
  const std::uint64_t updates = phases_.updates() + 1;
  float scale = 1;
  if (adam_.clip) scale = norms_.mean_scale(values_, excess_, *adam_.clip);
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    const auto beta2 = static_cast<float>(moments_[i].beta2);
    const kernel::AdamMoments moments{
        .mean_decay = static_cast<float>(moments_[i].beta1),
        .square_decay = beta2,
        .square_share = static_cast<float>(double{1 - beta2} / excess_[i]),
        .scale = scale};
    const std::span<float> means = all_of(means_, i);
    const std::span<float> squares = all_of(squares_, i);
    kernel::adam_moments(moments, values_[i], means, squares);
    kernel::adam_divide(divisor(i, updates), {.a = step_length(i)}, means, squares, values_[i]);
    add_decay(i);
  }
}

// Where some tensors were poisoned, the others have been sent all the same, and count.
void Adam::take_compressed(bool is_poisoned) {
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    if (is_poisoned && !kernel::is_finite_magnitude(kernel::largest_magnitude(values_[i])))
      continue;
    const auto beta1 = static_cast<float>(moments_[i].beta1);
    const bool is_momentum = adam_.sends_momentum;
    kernel::adam_take(divisor(i, phases_.updates()), is_momentum ? 0 : beta1, all_of(means_, i),
                      is_momentum ? 1 : 1 - beta1, step_length(i), all_of(squares_, i), values_[i]);
    add_decay(i);
  }
}

void Adam::add_decay(std::size_t tensor) {
  const auto shrink = static_cast<float>(context_.rate_of(tensor) * moments_[tensor].decay);
  if (shrink == 0) return;
  kernel::combine(1, values_[tensor], shrink, context_.parameters[tensor], values_[tensor]);
}

kernel::AdamDivisor Adam::divisor(std::size_t tensor, std::uint64_t updates) const {
  const double bias = 1 - power(moments_[tensor].beta2, updates);
  return {.unbias = static_cast<float>(1 / std::sqrt(bias)),
          .epsilon = static_cast<float>(moments_[tensor].epsilon)};
}

float Adam::step_length(std::size_t tensor) const {
  const double bias = 1 - power(moments_[tensor].beta1, phases_.steps() + 1);
  return static_cast<float>(context_.rate_of(tensor) / bias);
}

double Adam::squares_norm(std::uint64_t updates) const {
  double norm = 0;
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    const double bias = 1 - power(moments_[i].beta2, updates);
    norm += kernel::moments(squares_.whole(i)).sum / bias;
  }
  return norm;
}

// --- What is kept: the inner method's state, and beside it that of Adam ---

MethodState Adam::save() const {
  order_.check_between_steps("save()");
  MethodState state = inner_->save();
  state.spec = spec();
  means_.save(state);
  squares_.save(state);
  phases_.save(state);
  if (adam_.clip) norms_.save(state);
  return state;
}

void Adam::load(const MethodState& state) {
  order_.check_between_steps("load()");
  MethodState ours = inner_->save();
  ours.spec = spec();
  check_state_fits(ours, state);
  means_.check(state);
  squares_.check(state);
  AdamPhases phases = phases_;
  phases.load(state);
  WholeNorms norms;
  if (adam_.clip) norms.load(state);
  MethodState inner = state;
  inner.spec = inner_->spec();
  inner_->load(inner);
  means_.load(state);
  squares_.load(state);
  phases_ = phases;
  norms_ = norms;
}

// The inner method's memories are in units of the parameters' movement.
void Adam::rescale(float factor) {
  order_.check_between_steps("rescale()");
  check_rescale(factor);
  means_.rescale(factor);
  squares_.rescale(factor);
  squares_.rescale(factor);
  phases_.rescale(factor);
  norms_.rescale(factor);
}

std::size_t Adam::memory_bytes() const {
  return inner_->memory_bytes() + dense_->memory_bytes() + means_.bytes() + squares_.bytes();
}

ParsedMethod read_adam(MethodReader& reader) {
  const AdamOptions options = read_adam_options(reader);
  return {.spec = options.spec,
          .traits = traits_of(options, std::span(&options.moments, 1)),
          .up = options.inner.up,
          .down = options.inner.down,
          .factor_rank = options.inner.factor_rank,
          .exchanged_by = options.inner.spec,
          .note = options.inner.note != nullptr ? options.inner.note : &adam_note_kind(),
          .host_parts = HostParts::inside,
          .make = [options](Communicator& communicator, std::vector<MethodTensor> tensors,
                            const MethodOptions& method) {
            return std::make_unique<Adam>(communicator, std::move(tensors), options, method);
          }};
}

}  // namespace

MethodEntry adam_method() {
  return {.name = "adam",
          .read = read_adam,
          .examples = {{"adam(sign)", 3, 1, "", topologies_with_messages(),
                        "AdamW itself: its mean squares are learned from whole gradients, then "
                        "kept while steps are compressed"}}};
}

}  // namespace gradwire
