// dgc(share, momentum): u = momentum u + g; w += u; sends c = topk(w); u = w = 0 where something
// was sent; out = mean c. Gradients may be clipped before, and the share shrinks during a warm-up.
#include "gradwire/method/dgc.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "gradwire/codec/spec.h"
#include "gradwire/core/error.h"
#include "gradwire/kernel/combine.h"
#include "gradwire/kernel/sums.h"
#include "gradwire/method/downlink_error.h"
#include "gradwire/method/exchange_method.h"
#include "gradwire/method/methods.h"
#include "gradwire/method/scaling.h"

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
    const std::span<const float> decoded = sent.decoded();
    for (std::size_t i = 0; i < values.size(); ++i) {
      const bool is_sent = decoded[i] != 0;
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
};

constexpr double kUsualMomentum = 0.9;

DgcOptions read_options(MethodReader& reader) {
  StageReader& arguments = reader.arguments();
  DgcOptions options;
  options.share = arguments.share("share");
  reader.write(format_share(options.share));
  options.momentum = arguments.keyed_number("momentum", kUsualMomentum, 0, 0.999999);
  if (options.momentum != kUsualMomentum) {
    reader.write("momentum=" + format_number(options.momentum));
  }
  options.clip = arguments.number_or_off("clip", 0, 0, std::numeric_limits<double>::infinity());
  if (options.clip == 0.0) options.clip = std::nullopt;
  if (options.clip) reader.write("clip=" + format_number(*options.clip));
  options.warmup_steps =
      static_cast<std::size_t>(arguments.integer("warmup", 0, 0, std::int64_t{1} << 40));
  if (options.warmup_steps > 0) reader.write("warmup=" + std::to_string(options.warmup_steps));
  if (const SpecArgument* const given = arguments.nested("values")) {
    const std::shared_ptr<const Codec> values = reader.make_nested(*given);
    if (!values->is_plain()) options.values = values->spec();
    if (!values->is_plain()) reader.write("values=" + options.values);
  }
  options.down = reader.down(why_not_with_error_memory);
  return options;
}

ParsedMethod read_dgc(MethodReader& reader) {
  const DgcOptions options = read_options(reader);
  MethodSetup setup;
  setup.kind = RuleKind::ported;
  setup.traits = {
      .needs_whole_gradient = options.clip.has_value(), .owns_momentum = true, .has_memory = true};
  try {
    setup.codecs = {.up = make_codec(dgc_codec_spec(options, 0)), .down = options.down};
  } catch (const SpecError& error) {
    const std::string_view message = error.what();
    reader.arguments().fail_argument("values", message.substr(0, message.find('\n')));
  }
  reader.refuse_if(why_not_with_error_memory(*setup.codecs.up), "values");
  setup.steady = {.up = make_codec(dgc_codec_spec(options, options.warmup_steps)),
                  .down = options.down};
  // Momentum lengthens steps by 1 / (1 - momentum).
  setup.safe_step = [options](const StepFacts& facts, const StepNoise&) {
    return (1 - options.momentum) / facts.smoothness;
  };
  setup.make_rule = [options](RuleWorkspace& workspace) {
    return std::make_unique<DgcRule>(workspace, options);
  };
  setup.why_not_late = "";
  setup.why_not_repeatable = "its steps begin with another codec during the warm-up";
  setup.spec = reader.finish();
  return describe_method(setup);
}

}  // namespace

std::string dgc_codec_spec(const DgcOptions& options, std::uint64_t step) {
  const std::string sparse = "topk(" + format_share(share_at(options, step)) + ")";
  return options.values.empty() ? sparse : sparse + " | " + options.values;
}

MethodEntry dgc_method() {
  return {.name = "dgc",
          .read = read_dgc,
          .examples = {{"dgc(0.1%)", 2, 1, "", topologies_with_messages(),
                        "momentum before sparsification; clipping and warm-up"}}};
}

}  // namespace gradwire
