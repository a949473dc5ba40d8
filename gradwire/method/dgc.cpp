// dgc(share, momentum): u = momentum u + g; w += u; sends c = topk(w); u = w = 0 where something
// was sent; out = mean c. Gradients may be clipped before, and the share shrinks during a warm-up.
#include <algorithm>
#include <cmath>

#include "gradwire/codec/spec.h"
#include "gradwire/kernel/combine.h"
#include "gradwire/kernel/sums.h"
#include "gradwire/method/downlink_error.h"
#include "gradwire/method/rules.h"

namespace gradwire {
namespace {

// The published warm-up: 25%, 6.25%, 1.5625%, 0.390625%, each for a quarter of it.
constexpr double kWarmupFactor = 0.25;
constexpr std::size_t kWarmupStages = 4;

double share_at(const DgcOptions& options, std::uint64_t step) {
  if (step >= options.warmup_steps) return options.share;
  const auto stage = static_cast<double>(step * kWarmupStages / options.warmup_steps);
  return std::max(options.share, std::pow(kWarmupFactor, stage + 1));
}

class DgcRule final : public Rule {
 public:
  DgcRule(RuleWorkspace& workspace, const DgcOptions& options)
      : Rule(workspace),
        options_(options),
        velocity_(workspace.add_memory("velocity", Sharing::worker)),
        sum_(workspace.add_memory("velocity sum", Sharing::worker)),
        downlink_(workspace) {}

  MethodTraits traits() const override {
    return {.needs_whole_gradient = options_.clip.has_value(), .owns_momentum = true};
  }

  bool keeps_values() const override { return true; }

  Codecs on_begin() override {
    clip_factor_ = 1;
    const double share = share_at(options_, context().step);
    if (share == share_) return workspace().codecs;
    share_ = share;
    return {.up = make_codec(dgc_codec_spec(options_, context().step)), .down = options_.down};
  }

  // Each worker's gradient is one of N in the mean, so that its norm may be 1/sqrt(N) of the clip.
  bool on_whole_gradient() override {
    double squares = 0;
    for (const auto& gradient : workspace().gradients) squares += kernel::moments(gradient).squares;
    const double norm = double{context().weight} * std::sqrt(squares);
    const double most = *options_.clip / std::sqrt(static_cast<double>(workspace().workers));
    if (norm > most && std::isfinite(norm)) clip_factor_ = static_cast<float>(most / norm);
    return false;
  }

  void prepare(const TensorPiece& piece, std::span<const float> gradient,
               std::span<float> values) override {
    const float weight = clip_factor_ * context().weight;
    kernel::combine(weight, gradient, static_cast<float>(options_.momentum),
                    memory(velocity_, piece), values);           // u = momentum u + g
    kernel::combine(1, values, 1, memory(sum_, piece), values);  // w += u
  }

  // The new u is what w has moved by.
  void remember(const TensorPiece& piece, const SentPiece& sent, std::span<float> values) override {
    if (sent.is_empty()) return;
    const std::span<float> velocity = memory(velocity_, piece);
    const std::span<float> sum = memory(sum_, piece);
    sent_.resize(values.size());
    sent.decode(sent_);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const bool is_sent = sent_[i] != 0;
      velocity[i] = is_sent ? 0 : values[i] - sum[i];
      sum[i] = is_sent ? 0 : values[i];
    }
  }

  float mean_scale(std::size_t tensor) const override { return downlink_.scale(tensor); }

  void prepare_down(const TensorPiece& piece, std::span<const float> mean,
                    std::span<float> wanted) override {
    downlink_.prepare(piece, mean, 1, 1, wanted);
  }
  void commit_down(const TensorPiece& piece, std::span<const float> mean,
                   std::span<const float> sent) override {
    downlink_.commit(piece, mean, 1, 1, sent);
  }

 private:
  const DgcOptions options_;
  const std::size_t velocity_;
  const std::size_t sum_;
  DownlinkError downlink_;
  double share_ = share_at(options_, 0);  // that the codec in use has
  float clip_factor_ = 1;
  std::vector<float> sent_;
};

}  // namespace

std::string dgc_codec_spec(const DgcOptions& options, std::uint64_t step) {
  const std::string sparse = "topk(" + format_share(share_at(options, step)) + ")";
  return options.values == "none" ? sparse : sparse + " | " + options.values;
}

std::unique_ptr<Rule> make_dgc_rule(RuleWorkspace& workspace, const DgcOptions& options) {
  return std::make_unique<DgcRule>(workspace, options);
}

}  // namespace gradwire
