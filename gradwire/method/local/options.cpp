#include "gradwire/method/local/options.h"

#include <array>
#include <optional>

#include "gradwire/codec/spec.h"
#include "gradwire/method/dense_phase.h"
#include "gradwire/method/scaling.h"

namespace gradwire {
namespace {

constexpr std::int64_t kStepsMax = std::int64_t{1} << 40;
constexpr std::int64_t kFragmentsMax = 1024;
constexpr double kSparseMemory = 0.95;  // of SparseLoCo

// Its own key has the codec.
ParsedMethod read_codec(MethodReader& reader, const SpecArgument& argument) {
  StageReader& arguments = reader.arguments();
  const std::shared_ptr<const Codec> up = reader.make_nested(argument);
  reader.write(up->spec());
  reader.refuse_if(why_not_with_error_memory(*up), "codec");
  const std::shared_ptr<const Codec> down = reader.down(why_not_with_error_memory);
  const double usual = up->is_sparse() ? kSparseMemory : 1;
  const double memory = arguments.keyed_number("memory", usual, 0, 1);
  if (memory != usual) reader.write("memory=" + format_number(memory));
  const bool is_plain = up->is_plain() && (!down || down->is_plain());
  if (is_plain) return parse_method(up->spec());  // nothing is left unsent
  return parse_method("ef(" + up->spec() + (down ? ", down=" + down->spec() : "") +
                      (memory == 1 ? "" : ", memory=" + format_number(memory)) + ")");
}

ParsedMethod read_method(MethodReader& reader, const SpecArgument& argument) {
  StageReader& arguments = reader.arguments();
  ParsedMethod inner = reader.read_nested(argument, parse_method);
  const MethodTraits& traits = inner.traits;
  if (traits.output != MethodTraits::Output::gradient || traits.needs_parameters) {
    arguments.fail_argument("codec", inner.spec + " does not average what it is given");
  }
  if (traits.owns_momentum) {
    arguments.fail_argument("codec",
                            inner.spec + " has a momentum of its own; take outer=nesterov");
  }
  if (!traits.has_memory && inner.up && !is_unbiased(*inner.up)) {
    arguments.fail_argument("codec", inner.spec +
                                         " forgets what it does not send; give the codec alone, "
                                         "which has an error memory here");
  }
  if (arguments.nested("down") != nullptr) {
    arguments.fail_argument("down", "'down' belongs to the method inside");
  }
  if (arguments.number_or_auto("memory", 0, 1)) {
    arguments.fail_argument("memory", "'memory' belongs to the method inside, if it has one");
  }
  reader.write(inner.spec);
  return inner;
}

ParsedMethod read_inner(MethodReader& reader) {
  const SpecArgument* const argument = reader.arguments().nested_or_first("codec", "none");
  if (argument == nullptr) reader.arguments().fail("'local' needs a codec, as in 'local(none)'");
  return names_codec(*argument) ? read_codec(reader, *argument) : read_method(reader, *argument);
}

[[noreturn]] void fail_outer(StageReader& arguments) {
  arguments.fail_argument("outer",
                          "'outer' is sgd(RATE) or nesterov(RATE, MOMENTUM), with a rate above 0, "
                          "at most 10, and a momentum from 0 to below 1");
}

// sgd(1) or nesterov(0.7, 0.9).
OuterStep read_outer(MethodReader& reader) {
  StageReader& arguments = reader.arguments();
  const SpecArgument* const argument = arguments.nested("outer");
  if (argument == nullptr) return {};
  if (argument->stages.size() != 1) fail_outer(arguments);
  const SpecStage& stage = argument->stages.front();
  const bool is_nesterov = stage.name == "nesterov";
  if (!is_nesterov && stage.name != "sgd") fail_outer(arguments);
  if (stage.arguments.size() > (is_nesterov ? 2u : 1u)) fail_outer(arguments);
  OuterStep outer = is_nesterov ? OuterStep{.rate = 0.7, .momentum = 0.9} : OuterStep{};
  const std::array<double*, 2> places = {&outer.rate, &outer.momentum};
  for (std::size_t i = 0; i < stage.arguments.size(); ++i) {
    const SpecArgument& number = stage.arguments[i];
    if (!number.number || !number.key.empty()) fail_outer(arguments);
    *places[i] = *number.number;
  }
  const bool is_right =
      outer.rate > 0 && outer.rate <= 10 && outer.momentum >= 0 && outer.momentum < 1;
  if (!is_right) fail_outer(arguments);
  if (outer.rate != 1 || outer.momentum != 0) reader.write("outer=" + outer.spec());
  return outer;
}

std::uint64_t read_count(MethodReader& reader, const char* key, std::int64_t otherwise,
                         std::int64_t least, std::int64_t most, bool is_always_written = false) {
  const std::int64_t given = reader.arguments().integer(key, otherwise, least, most);
  if (is_always_written || given != otherwise) {
    reader.write(std::string(key) + '=' + std::to_string(given));
  }
  return static_cast<std::uint64_t>(given);
}

}  // namespace

LocalOptions read_local_options(MethodReader& reader) {
  StageReader& arguments = reader.arguments();
  LocalOptions options;
  options.inner = read_inner(reader);
  LocalSchedule& schedule = options.schedule;
  schedule.every = read_count(reader, "every", 30, 1, kStepsMax, true);
  options.outer = read_outer(reader);
  schedule.after = read_count(reader, "after", 0, 0, kStepsMax);
  options.dense = read_dense(reader);
  schedule.fragments = read_count(reader, "fragments", 1, 1, kFragmentsMax);
  schedule.delay = read_count(reader, "delay", 0, 0, kStepsMax);
  if (schedule.fragments > schedule.every) {
    arguments.fail_argument("fragments",
                            "at most one fragment can begin at a step, so there are "
                            "at most as many as 'every'");
  }
  if (schedule.delay >= schedule.every) {
    arguments.fail_argument("delay",
                            "a mean must arrive before its fragment is exchanged again: 'delay' "
                            "is below 'every'");
  }
  const double mix = arguments.keyed_number("mix", 0.5, 0, 1);
  if (mix != 0.5) {
    if (schedule.delay == 0) {
      arguments.fail_argument("mix", "only means that arrive late are mixed in: set delay=STEPS");
    }
    reader.write("mix=" + format_number(mix));
  }
  options.mix = static_cast<float>(mix);
  options.spec = reader.finish();
  return options;
}

}  // namespace gradwire
