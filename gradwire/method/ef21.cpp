// ef21(C): v = g - s; sends c = C(v); s += c; S += mean c; out = S.
// With a downlink D, S stays with the owner: sends q = D(S - H); all: H += q; out = H.
#include <algorithm>
#include <limits>

#include "gradwire/kernel/combine.h"
#include "gradwire/method/exchange_method.h"
#include "gradwire/method/methods.h"
#include "gradwire/method/scaling.h"

namespace gradwire {
namespace {

class Ef21Rule final : public Rule {
 public:
  explicit Ef21Rule(RuleWorkspace& workspace)
      : Rule(workspace),
        shift_(workspace.add_memory("shift", Sharing::worker)),
        all_(workspace.add_memory(workspace.has_downlink ? "downlink shift" : "mean shift",
                                  Sharing::replicated)),
        owner_(workspace.has_downlink ? workspace.add_owner_memory("mean shift") : 0),
        scales_(contraction_scales(*workspace.codecs.up, workspace.tensors)),
        down_scales_(contraction_scales(*workspace.codecs.down, workspace.tensors)) {}

  void prepare(const TensorPiece& piece, std::span<const float> gradient,
               std::span<float> values) override {
    kernel::combine(context().weight, gradient, -1, memory(shift_, piece), values);  // g - s
  }

  void remember(const TensorPiece& piece, const SentPiece& sent,
                std::span<float> /*values*/) override {
    sent.add(scales_[piece.tensor], memory(shift_, piece));  // s += c
  }

  float mean_scale(std::size_t tensor) const override {
    return workspace().has_downlink ? down_scales_[tensor] : scales_[tensor];
  }

  void commit(const TensorPiece& piece, std::span<const float> mean,
              std::span<float> result) override {
    const std::span<float> all = memory(all_, piece);
    kernel::combine(1, all, 1, mean, all);  // S += a, or H += q
    std::copy(all.begin(), all.end(), result.begin());
  }

  void on_regrouped(const Regrouping& how) override {
    if (how.has_lost_shifts) restart_shift(shift_, all_);
  }
  std::string why_not_regrouped() const override {
    return workspace().has_downlink ? kLosesMeanShift : "";
  }

  void prepare_down(const TensorPiece& piece, std::span<const float> mean,
                    std::span<float> wanted) override {
    kernel::combine(1, memory(owner_, piece), scales_[piece.tensor], mean, wanted);
    kernel::combine(1, wanted, -1, memory(all_, piece), wanted);  // (S + a) - H
  }
  void commit_down(const TensorPiece& piece, std::span<const float> mean,
                   std::span<const float> /*sent*/) override {
    const std::span<float> exact = memory(owner_, piece);
    kernel::combine(1, exact, scales_[piece.tensor], mean, exact);  // S += a
  }

 private:
  const std::size_t shift_;
  const std::size_t all_;
  const std::size_t owner_;
  const std::vector<float> scales_;
  const std::vector<float> down_scales_;
};

// As proven: the memories' constants shorten steps, and a memory that is slow to follow bounds
// them.
double ef21_step(const StepFacts& facts, const StepNoise& noise) {
  const std::optional<double> delta = contraction(noise.up);
  if (!delta) return usual_step(facts);
  const Ef21Constants up(*delta);
  double factor = up.factor();
  double t = up.t;
  if (const auto down = noise.down ? contraction(*noise.down) : std::nullopt) {
    factor *= Ef21Constants(*down).factor();
    t = std::min(t, Ef21Constants(*down).t);
  }
  const double slow =
      facts.convexity > 0 ? t / (2 * facts.convexity) : std::numeric_limits<double>::infinity();
  return std::min(1 / (facts.smoothness * factor), slow);
}

ParsedMethod read_ef21(MethodReader& reader) {
  MethodSetup setup;
  setup.kind = RuleKind::ported;
  setup.traits.has_memory = true;
  setup.codecs.up = reader.codec(why_not_with_error_memory);
  setup.codecs.down = reader.down(why_not_with_error_memory);
  setup.safe_step = ef21_step;
  setup.make_rule = [](RuleWorkspace& workspace) { return std::make_unique<Ef21Rule>(workspace); };
  setup.spec = reader.finish();
  return describe_method(setup);
}

}  // namespace

MethodEntry ef21_method() {
  return {.name = "ef21",
          .read = read_ef21,
          .examples = {{"ef21(topk(1%))", 2, 1, "", topologies_with_messages(),
                        "sends what a gradient has moved by: no floor on data that differ"}}};
}

}  // namespace gradwire
