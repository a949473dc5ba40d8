#include "gradwire/method/direct.h"

#include <algorithm>

#include "gradwire/kernel/combine.h"
#include "gradwire/method/exchange_method.h"
#include "gradwire/method/methods.h"
#include "gradwire/method/rules.h"

namespace gradwire {
namespace {

class PortedDirectRule final : public Rule {
 public:
  using Rule::Rule;

  void prepare(const TensorPiece&, std::span<const float> gradient,
               std::span<float> values) override {
    kernel::combine(context().weight, gradient, 0, gradient, values);
  }
  void commit(const TensorPiece&, std::span<const float> mean, std::span<float> result) override {
    std::copy(mean.begin(), mean.end(), result.begin());
  }
};

// Noise shortens steps: that of the way up as far as it does not average out.
double direct_step(const StepFacts& facts, const StepNoise& noise) {
  const auto omega = [](const Guarantee& guarantee) {
    return guarantee.kind == Guarantee::Kind::unbiased ? guarantee.constant : 0;
  };
  const double down = noise.down ? omega(*noise.down) : 0;
  return 1 / (facts.smoothness * (1 + down) * (1 + omega(noise.up) / noise.averaged_over));
}

ParsedMethod describe_direct(std::string spec, const Codecs& codecs) {
  return describe_method({.spec = std::move(spec),
                          .codecs = codecs,
                          .safe_step = direct_step,
                          .make_rule = make_direct_rule});
}

ParsedMethod read_direct(MethodReader& reader) {
  Codecs codecs;
  codecs.up = reader.codec();
  codecs.down = reader.down();
  return describe_direct(reader.finish(), codecs);
}

}  // namespace

ParsedMethod parse_codec_alone(std::string_view text) {
  const std::shared_ptr<const Codec> codec = make_codec(text);
  return describe_direct(codec->spec(), {.up = codec});
}

std::unique_ptr<Rule> make_direct_rule(RuleWorkspace& workspace) {
  return std::make_unique<Rule>(workspace);
}

std::unique_ptr<Rule> make_ported_direct_rule(RuleWorkspace& workspace) {
  return std::make_unique<PortedDirectRule>(workspace);
}

MethodEntry direct_method() {
  return {.name = "direct",
          .read = read_direct,
          .examples = {{"natural", 0, 0, "", any_topology(),
                        "a codec alone: the mean of what it makes of each gradient"},
                       {"direct(topk(1%), down=none)", 0, 0, "", topologies_with_messages(),
                        "the same, with a codec for each way"}}};
}

}  // namespace gradwire
