// ef(C): v = g + b e; sends c = C(v); e = v - c; out = mean c. b is 1 unless memory= says so.
#include <utility>

#include "gradwire/kernel/combine.h"
#include "gradwire/kernel/copy.h"
#include "gradwire/method/downlink_error.h"
#include "gradwire/method/exchange_method.h"
#include "gradwire/method/methods.h"
#include "gradwire/method/rate_unit.h"
#include "gradwire/method/scaling.h"

namespace gradwire {
namespace {

class EfRule final : public Rule {
 public:
  EfRule(RuleWorkspace& workspace, float kept)
      : Rule(workspace),
        kept_(kept),
        error_(workspace.add_memory("error", Sharing::worker)),
        downlink_(workspace),
        scales_(contraction_scales(*workspace.codecs.up, workspace.tensors)),
        unit_(workspace.tensors),
        down_unit_(workspace.tensors),
        due_factors_(workspace.tensors.size(), 1.0F) {}

  bool keeps_values() const override { return true; }

  void prepare(const TensorPiece& piece, std::span<const float> gradient,
               std::span<float> values) override {
    kernel::combine(context().weight, gradient, kept_ * factor(piece), memory(error_, piece),
                    values);
  }

  // e = v - c. It is in no cache, and is next read a whole step later.
  void remember(const TensorPiece& piece, const SentPiece& sent, std::span<float> values) override {
    if (sent.is_empty()) return;
    sent.add(-scales_[piece.tensor], values);
    kernel::copy_streamed(std::as_bytes(std::span<const float>(values)),
                          std::as_writable_bytes(memory(error_, piece)).data());
  }

  float mean_scale(std::size_t tensor) const override {
    return workspace().has_downlink ? downlink_.scale(tensor) : scales_[tensor];
  }

  void prepare_down(const TensorPiece& piece, std::span<const float> mean,
                    std::span<float> wanted) override {
    downlink_.prepare(piece, mean, scales_[piece.tensor], down_factor(piece), wanted);
  }
  void commit_down(const TensorPiece& piece, std::span<const float> mean,
                   std::span<const float> sent) override {
    downlink_.commit(piece, mean, scales_[piece.tensor], down_factor(piece), sent);
  }

  // Between steps, the memory of the downlink is in the unit of this rank's last step.
  void begin_down(std::size_t first, std::size_t last) override {
    for (std::size_t i = first; i < last; ++i) {
      due_factors_[i] *= down_unit_.factor(i, context());
    }
    down_unit_.commit(first, last, context());
  }
  void settle_down(std::size_t first, std::size_t last) override {
    for (std::size_t i = first; i < last; ++i) {
      downlink_.rescale(i, std::exchange(due_factors_[i], 1.0F));
    }
  }

  void on_settled(std::size_t first, std::size_t last, bool poisoned) override {
    if (!poisoned) unit_.commit(first, last, context());
  }
  // What a worker's error adds to the mean stays the same: e / N.
  void on_regrouped(const Regrouping& how) override {
    const auto factor = static_cast<float>(static_cast<double>(workspace().workers) /
                                           static_cast<double>(how.workers_before));
    workspace().memories[error_].rescale(factor);
  }

  void on_save(MethodState& state) const override { unit_.save(state); }
  void on_load(const MethodState& state) override {
    unit_.load(state);
    down_unit_.load(state);
  }

 private:
  float factor(const TensorPiece& piece) const { return unit_.factor(piece.tensor, context()); }
  float down_factor(const TensorPiece& piece) const {
    return workspace().options.grace.is_given() ? 1.0F : factor(piece);
  }

  const float kept_;  // of the memory, from step to step
  const std::size_t error_;
  DownlinkError downlink_;
  const std::vector<float> scales_;
  RateUnit unit_;
  RateUnit down_unit_;              // with grace: see begin_down()
  std::vector<float> due_factors_;  // of the downlink's memory, by tensor
};

ParsedMethod read_ef(MethodReader& reader) {
  MethodSetup setup;
  setup.kind = RuleKind::ported;
  setup.traits.has_memory = true;
  setup.codecs.up = reader.codec(why_not_with_error_memory);
  setup.codecs.down = reader.down(why_not_with_error_memory);
  const double kept = reader.arguments().keyed_number("memory", 1, 0, 1);
  if (kept != 1) reader.write("memory=" + format_number(kept));
  setup.make_rule = [kept](RuleWorkspace& workspace) {
    return std::make_unique<EfRule>(workspace, static_cast<float>(kept));
  };
  setup.why_not_late = "";
  setup.spec = reader.finish();
  return describe_method(setup);
}

}  // namespace

MethodEntry ef_method() {
  return {.name = "ef",
          .read = read_ef,
          .examples = {{"ef(topk(1%))", 1, 1, "", topologies_with_messages(),
                        "adds the unsent part of a gradient to the next one"},
                       {"ef(topk(1%), down=natural)", 1, 1, "", topologies_with_owners(),
                        "the same, with a memory for the downlink, too"}}};
}

}  // namespace gradwire
