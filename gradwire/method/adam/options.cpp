#include "gradwire/method/adam/options.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "gradwire/codec/spec.h"
#include "gradwire/method/dense_phase.h"
#include "gradwire/method/registry.h"
#include "gradwire/method/scaling.h"

namespace gradwire {
namespace {

constexpr double kStepsMax = 0x1p40;

ParsedMethod read_codec(MethodReader& reader, const SpecArgument& argument) {
  const std::shared_ptr<const Codec> up = reader.make_nested(argument);
  reader.write(up->spec());
  reader.refuse_if(why_not_with_error_memory(*up), "codec");
  const std::shared_ptr<const Codec> down = reader.down(why_not_with_error_memory);
  return parse_method("ef(" + up->spec() + (down ? ", down=" + down->spec() : "") + ")");
}

ParsedMethod read_method(MethodReader& reader, const SpecArgument& argument) {
  StageReader& arguments = reader.arguments();
  ParsedMethod inner = reader.read_nested(argument, parse_method);
  const MethodTraits& traits = inner.traits;
  if (traits.output != MethodTraits::Output::gradient || traits.needs_parameters) {
    arguments.fail_argument("codec",
                            inner.spec + " gives updates, and needs to be given gradients");
  }
  if (traits.owns_momentum) {
    arguments.fail_argument("codec", inner.spec + " has a momentum of its own beside Adam's");
  }
  if (!traits.has_memory && inner.up && !is_unbiased(*inner.up)) {
    arguments.fail_argument("codec", inner.spec +
                                         " forgets what it does not send; give the codec alone, "
                                         "which has an error memory here");
  }
  if (arguments.nested("down") != nullptr) {
    arguments.fail_argument("down", "'down' belongs to the method inside");
  }
  reader.write(inner.spec);
  return inner;
}

ParsedMethod read_inner(MethodReader& reader) {
  const SpecArgument* const argument = reader.arguments().nested_or_first("codec", "sign");
  if (argument == nullptr) reader.arguments().fail("'adam' needs a codec, as in 'adam(sign)'");
  return names_codec(*argument) ? read_codec(reader, *argument) : read_method(reader, *argument);
}

std::optional<std::uint64_t> read_steps(MethodReader& reader, const char* key, double least) {
  const std::optional<double> given = reader.arguments().number_or_auto(key, least, kStepsMax);
  if (!given) return std::nullopt;
  if (*given != std::floor(*given)) {
    reader.arguments().fail_argument(key, "'" + std::string(key) + "' is a number of steps");
  }
  reader.write(std::string(key) + '=' + format_number(*given));
  return static_cast<std::uint64_t>(*given);
}

MomentSettings read_moments(MethodReader& reader) {
  const MomentSettings usual;
  const auto number = [&](const char* key, double otherwise, double least, double most) {
    const double given = reader.arguments().keyed_number(key, otherwise, least, most);
    if (given != otherwise) reader.write(std::string(key) + '=' + format_number(given));
    return given;
  };
  constexpr double kBetaMax = 1 - 1e-9;
  MomentSettings moments;
  moments.beta1 = number("beta1", usual.beta1, 0, kBetaMax);
  moments.beta2 = number("beta2", usual.beta2, 0, kBetaMax);
  moments.epsilon = number("epsilon", usual.epsilon, 1e-30, 1);
  moments.decay = number("decay", usual.decay, 0, 1e6);
  return moments;
}

}  // namespace

AdamOptions read_adam_options(MethodReader& reader) {
  StageReader& arguments = reader.arguments();
  AdamOptions options;
  options.inner = read_inner(reader);
  if (arguments.word("send", {"momentum", "gradient"}) == "gradient") {
    options.sends_momentum = false;
    reader.write("send=gradient");
  }
  options.schedule.warmup = read_steps(reader, "warmup", 1);
  options.schedule.refresh = read_steps(reader, "refresh", 0).value_or(options.schedule.refresh);
  options.dense = read_dense(reader);
  options.clip = arguments.number_or_off("clip", 0, 0, std::numeric_limits<double>::infinity());
  if (options.clip == 0.0) options.clip = std::nullopt;
  if (options.clip) reader.write("clip=" + format_number(*options.clip));
  options.moments = read_moments(reader);
  options.spec = reader.finish();
  return options;
}

}  // namespace gradwire
