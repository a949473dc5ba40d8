// diana(C): v = g - h_i; sends c = C(v); h_i += alpha c; ghat = h + mean c; h += alpha mean c.
// With a downlink D, the owner holds hbar, the mean of the h_i: ghat = hbar + a; hbar += alpha a;
// sends q = D(ghat - H); all: out = H + q; H += beta q.
// With momentum: m = momentum m + (1 - momentum) ghat; out = m. In this form a prox that follows
// with the same step size finds the right point.
#include <cmath>

#include "gradwire/codec/spec.h"
#include "gradwire/kernel/combine.h"
#include "gradwire/method/exchange_method.h"
#include "gradwire/method/methods.h"
#include "gradwire/method/scaling.h"

namespace gradwire {
namespace {

struct DianaOptions {
  std::optional<double> alpha = {};  // null: 1 / (2 (1 + omega)), cut to a few bits
  double momentum = 0;
};

// The number with its first six bits, so smaller by at most 3%. Times a power of two, as natural
// sends it, it is then added to a shift without rounding. With all its bits the rounding errors
// have a direction, and what is held as the mean of the shifts drifts away from that mean.
double with_few_bits(double number) {
  int exponent = 0;
  const double mantissa = std::frexp(number, &exponent);  // from 1/2 to 1
  return std::ldexp(std::floor(mantissa * 64), exponent - 6);
}

class DianaRule final : public Rule {
 public:
  DianaRule(RuleWorkspace& workspace, const DianaOptions& options)
      : Rule(workspace),
        momentum_(static_cast<float>(options.momentum)),
        store_(workspace.is_large && momentum_ == 0 ? kernel::Store::streamed
                                                    : kernel::Store::cached),
        shift_(workspace.add_memory("shift", Sharing::worker)),
        all_(workspace.add_memory(workspace.has_downlink ? "downlink shift" : "mean shift",
                                  Sharing::replicated)),
        owner_(workspace.has_downlink ? workspace.add_owner_memory("mean shift") : 0),
        average_(momentum_ > 0 ? workspace.add_memory("momentum", Sharing::replicated) : 0) {
    for (const MethodTensor& tensor : workspace.tensors) {
      const double alpha = 1 / (2 * (1 + omega(*workspace.codecs.up, tensor.elements())));
      alphas_.push_back(static_cast<float>(options.alpha.value_or(with_few_bits(alpha))));
      rates_.push_back(workspace.has_downlink ? down_rate(*workspace.codecs.down, tensor.elements())
                                              : alphas_.back());
    }
  }

  void prepare(const TensorPiece& piece, std::span<const float> gradient,
               std::span<float> values) override {
    kernel::combine(context().weight, gradient, -1, memory(shift_, piece), values);  // g - h_i
  }

  void remember(const TensorPiece& piece, const SentPiece& sent,
                std::span<float> /*values*/) override {
    sent.add(alphas_[piece.tensor], memory(shift_, piece));  // h_i += alpha c
  }

  void commit(const TensorPiece& piece, std::span<const float> mean,
              std::span<float> result) override {
    kernel::follow(memory(all_, piece), mean, rates_[piece.tensor], result, store_);
    if (momentum_ == 0) return;
    const std::span<float> average = memory(average_, piece);
    kernel::combine(momentum_, average, 1 - momentum_, result, average);
    std::copy(average.begin(), average.end(), result.begin());
  }

  void on_regrouped(const Regrouping& how) override {
    if (how.has_lost_shifts) restart_shift(shift_, all_);
  }
  std::string why_not_regrouped() const override {
    return workspace().has_downlink ? kLosesMeanShift : "";
  }

  void prepare_down(const TensorPiece& piece, std::span<const float> mean,
                    std::span<float> wanted) override {
    kernel::combine(1, memory(owner_, piece), 1, mean, wanted);   // ghat = hbar + a
    kernel::combine(1, wanted, -1, memory(all_, piece), wanted);  // ghat - H
  }
  void commit_down(const TensorPiece& piece, std::span<const float> mean,
                   std::span<const float> /*sent*/) override {
    const std::span<float> exact = memory(owner_, piece);
    kernel::combine(1, exact, alphas_[piece.tensor], mean, exact);  // hbar += alpha a
  }

 private:
  // beta: a codec that contracts moves H to what was sent; one that is right on average, less far.
  static float down_rate(const Codec& down, std::size_t elements) {
    const Guarantee guarantee = down.guarantee(elements);
    const bool is_unbiased = guarantee.kind == Guarantee::Kind::unbiased;
    return is_unbiased ? static_cast<float>(1 / (1 + guarantee.constant)) : 1.0F;
  }

  const float momentum_;
  const kernel::Store store_;
  const std::size_t shift_;
  const std::size_t all_;
  const std::size_t owner_;
  const std::size_t average_;
  std::vector<float> alphas_;  // by tensor
  std::vector<float> rates_;   // of what all ranks hold
};

// By how much a downlink with a memory shortens steps. For an unbiased one it was found by trial. A
// contractive one follows the mean as ef21 does, and costs what it costs there.
double down_factor(const std::optional<Guarantee>& down) {
  if (!down) return 1;
  if (down->kind == Guarantee::Kind::unbiased) return 1 + 6 * down->constant;
  const bool is_contractive = down->kind == Guarantee::Kind::contractive;
  return is_contractive ? Ef21Constants(down->constant).factor() : 1;
}

// As proven where the mean comes down exact.
double diana_step(const StepFacts& facts, const StepNoise& noise) {
  const bool is_unbiased_down = noise.down && noise.down->kind == Guarantee::Kind::unbiased;
  const double up_factor = 1 + (is_unbiased_down ? 6 : 2) * noise.up.constant / noise.averaged_over;
  return 1 / (facts.smoothness * down_factor(noise.down) * up_factor);
}

ParsedMethod read_diana(MethodReader& reader) {
  MethodSetup setup;
  setup.kind = RuleKind::ported;
  setup.codecs.up = reader.codec(why_not_with_shifts);
  DianaOptions options;
  // With 0 there are no shifts: 1-level QSGD, TernGrad or whatever the codec is by itself.
  options.alpha = reader.arguments().number_or_auto("alpha", 0, 1);
  if (options.alpha) reader.write("alpha=" + format_number(*options.alpha));
  options.momentum = reader.arguments().keyed_number("momentum", 0, 0, 0.999999);
  if (options.momentum > 0) reader.write("momentum=" + format_number(options.momentum));
  setup.codecs.down = reader.down(why_not_with_error_memory);
  if (!setup.codecs.down) setup.codecs.down = make_plain_codec();
  setup.traits = {.owns_momentum = options.momentum > 0, .has_memory = true};
  setup.safe_step = diana_step;
  setup.make_rule = [options](RuleWorkspace& workspace) {
    return std::make_unique<DianaRule>(workspace, options);
  };
  setup.spec = reader.finish();
  return describe_method(setup);
}

}  // namespace

MethodEntry diana_method() {
  return {.name = "diana",
          .read = read_diana,
          .examples = {{"diana(natural)", 2, 0, "", topologies_with_messages(),
                        "the same for codecs that are right on average: converges to the optimum"},
                       {"diana(natural, down=natural)", 2, 1, "", topologies_with_owners(),
                        "the same with a rounded downlink, which has a shift of its own"}}};
}

}  // namespace gradwire
