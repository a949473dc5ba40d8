#include "gradwire/method/dense_phase.h"

#include <algorithm>

namespace gradwire {
namespace {

constexpr std::size_t kUsualElements = std::size_t{1} << 20;

}  // namespace

bool is_unbiased(const Codec& codec) {
  return codec.guarantee(kUsualElements).kind == Guarantee::Kind::unbiased;
}

bool names_codec(const SpecArgument& argument) {
  const std::vector<std::string> codecs = codec_stage_names();
  return std::ranges::any_of(argument.stages, [&](const SpecStage& stage) {
    return std::ranges::find(codecs, stage.name) != codecs.end();
  });
}

// Mean squares of what is right on average are too large by a known factor, others are wrong.
ParsedMethod read_dense(MethodReader& reader) {
  const SpecArgument* const argument = reader.arguments().nested("dense");
  const std::string usual = make_codec("natural | entropy")->spec();
  if (argument == nullptr) return parse_method(usual);
  const std::shared_ptr<const Codec> codec = reader.make_nested(*argument);
  if (!is_unbiased(*codec) || codec->guarantee(kUsualElements).constant >= 1) {
    reader.arguments().fail_argument(
        "dense",
        "optimisers with mean squares need gradients that are right on average, with an error "
        "below their norm, and " +
            codec->spec() + " gives others; take none, natural or qsgd(bits=8)");
  }
  if (codec->spec() != usual) reader.write("dense=" + codec->spec());
  return parse_method(codec->spec());
}

}  // namespace gradwire
