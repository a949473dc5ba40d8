// ef with a codec C_t for each tensor t: v = g + e; sends c = C_t(v); e = v - c, or 0 for tensors
// that keep no error; out = mean c. Owners do the same with what goes down.
#include <algorithm>

#include "gradwire/kernel/combine.h"
#include "gradwire/method/rate_unit.h"
#include "gradwire/method/rules.h"

namespace gradwire {
namespace {

class EfEachRule final : public Rule {
 public:
  EfEachRule(RuleWorkspace& workspace, std::vector<bool> keeps_error)
      : Rule(workspace),
        keeps_error_(std::move(keeps_error)),
        error_(workspace.add_memory("error", Sharing::worker)),
        unit_(workspace.tensors) {
    if (workspace.has_downlink) downlink_error_ = workspace.add_owner_memory("downlink error");
  }

  bool keeps_values() const override { return true; }

  void prepare(const TensorPiece& piece, std::span<const float> gradient,
               std::span<float> values) override {
    kernel::combine(context().weight, gradient, factor(piece), memory(error_, piece), values);
  }

  void remember(const TensorPiece& piece, const SentPiece& sent, std::span<float> values) override {
    if (sent.is_empty()) return;
    const std::span<float> error = memory(error_, piece);
    if (keeps_error_[piece.tensor]) {
      sent.add(-1, values);
      std::ranges::copy(values, error.begin());
    } else {
      std::ranges::fill(error, 0.0F);
    }
  }

  void prepare_down(const TensorPiece& piece, std::span<const float> mean,
                    std::span<float> wanted) override {
    kernel::combine(1, mean, factor(piece), memory(downlink_error_, piece), wanted);
  }
  void commit_down(const TensorPiece& piece, std::span<const float> mean,
                   std::span<const float> sent) override {
    const std::span<float> error = memory(downlink_error_, piece);
    if (keeps_error_[piece.tensor]) {
      kernel::combine(1, mean, factor(piece), error, error);
      kernel::combine(1, error, -1, sent, error);
    } else {
      std::ranges::fill(error, 0.0F);
    }
  }

  void on_settled(std::size_t first, std::size_t last, bool poisoned) override {
    if (!poisoned) unit_.commit(first, last, context());
  }
  void on_save(MethodState& state) const override { unit_.save(state); }
  void on_load(const MethodState& state) override { unit_.load(state); }

 private:
  float factor(const TensorPiece& piece) const { return unit_.factor(piece.tensor, context()); }

  const std::vector<bool> keeps_error_;
  const std::size_t error_;
  std::size_t downlink_error_ = 0;
  RateUnit unit_;
};

}  // namespace

std::unique_ptr<Rule> make_ef_each_rule(RuleWorkspace& workspace, std::vector<bool> keeps_error) {
  return std::make_unique<EfEachRule>(workspace, std::move(keeps_error));
}

}  // namespace gradwire
