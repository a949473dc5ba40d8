#include "gradwire/method/lgreco/lgreco_reader.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>

#include "gradwire/codec/spec.h"
#include "gradwire/core/error.h"

namespace gradwire {
namespace {

// "topk" or "topk(2%)": the family, and what its layers would have without a plan. "any": all, with
// uniform=SPEC.
Candidates read_candidates(MethodReader& reader) {
  StageReader& arguments = reader.arguments();
  const SpecRange range = arguments.range("range", kUsualRange, 1e-6, 1e6);
  if (range.from > 1 || range.to < 1) {
    arguments.fail_argument("range", "the uniform setting, factor 1, must be in the range");
  }
  const auto make = [&](std::span<const Family> families, std::optional<Candidate> uniform) {
    return make_candidates(families, std::move(uniform), range);
  };
  const auto write_range = [&] {
    if (range != kUsualRange) reader.write("range=" + format_range(range));
  };
  const SpecArgument* const family = arguments.nested_or_first("family", "topk");
  if (family == nullptr) arguments.fail("'lgreco' needs a family: qsgd, topk, powersgd or any");
  const SpecArgument* const uniform = arguments.nested("uniform");
  if (family->stages.size() == 1 && family->stages.front().name == "any") {
    if (!family->stages.front().arguments.empty()) {
      arguments.fail_argument("family", "'any' has no arguments; take uniform=SPEC beside it");
    }
    reader.write("any");
    std::optional<Candidate> given;
    if (uniform != nullptr) given = reader.read_nested(*uniform, read_candidate);
    Candidates candidates = make(planned_families(), given);
    const Candidates usual = make_candidates(planned_families());
    if (given && !given->is_same(usual.all[usual.uniform])) reader.write("uniform=" + given->spec);
    write_range();
    return candidates;
  }
  if (uniform != nullptr) {
    arguments.fail_argument("uniform", "'uniform' is for lgreco(any); write lgreco(topk(1%))");
  }
  const std::string& given_name = family->stages.front().name;
  const auto is_given = [&](Family known) { return given_name == name(known); };
  if (!is_given(Family::exact) && std::ranges::none_of(planned_families(), is_given)) {
    arguments.fail_argument("family", "there is no family called '" + given_name +
                                          "'; known are qsgd, topk, powersgd and any");
  }
  const Candidate given = reader.read_nested(*family, read_candidate);
  if (given.family == Family::exact) {
    arguments.fail_argument("family",
                            "'none' has no parameter to plan; take qsgd, topk, powersgd "
                            "or any");
  }
  const Candidates usual = make_candidates(std::array{given.family});
  const bool is_usual = given.is_same(usual.all[usual.uniform]);
  reader.write(is_usual ? name(given.family) : given.spec);
  write_range();
  return make(std::array{given.family}, given);
}

// reference=accordion(topk, low=1%, high=10%)
void read_reference(MethodReader& reader, LgrecoOptions& options) {
  const SpecArgument* const given = reader.arguments().nested("reference");
  if (given == nullptr) return;
  options.accordion = reader.read_nested(*given, [](const std::string& text) {
    const Spec spec = parse_spec(text);
    const SpecStage& stage = spec.stages.front();
    if (spec.stages.size() > 1 || stage.name != "accordion") {
      fail_at(text, stage.position, "the reference is accordion(FAMILY, low=, high=)");
    }
    StageReader arguments(text, stage);
    AccordionOptions accordion = read_accordion(arguments);
    arguments.finish();
    return accordion;
  });
  if (!options.candidates.has(options.accordion->low.family)) {
    reader.arguments().fail_argument("reference", "it has another family than the plans");
  }
  index_of(options.accordion->low, options.candidates);
  options.candidates.uniform = index_of(options.accordion->high, options.candidates);
  reader.write("reference=accordion(" + options.accordion->arguments() + ')');
}

}  // namespace

LgrecoOptions read_accordion_options(MethodReader& reader) {
  LgrecoOptions options;
  options.accordion = read_accordion(reader.arguments());
  options.is_accordion = true;
  options.guard = 0;
  const Candidate exact = make_candidates(planned_families()).all.front();
  options.candidates.all = {exact, options.accordion->low, options.accordion->high};
  options.candidates.uniform = 2;
  options.warmup = 0;
  constexpr std::int64_t kUsualPeriod = 100;
  const std::int64_t period = reader.arguments().integer("period", kUsualPeriod, 1, 1'000'000'000);
  options.period = static_cast<std::size_t>(period);
  options.window = options.period;
  reader.write(options.accordion->arguments());
  if (period != kUsualPeriod) reader.write("period=" + std::to_string(period));
  options.spec = reader.finish();
  return options;
}

LgrecoOptions read_lgreco_options(MethodReader& reader) {
  StageReader& arguments = reader.arguments();
  LgrecoOptions options;
  options.candidates = read_candidates(reader);
  read_reference(reader, options);
  const auto steps = [&](const char* key, std::size_t otherwise, std::size_t least) {
    constexpr std::int64_t kMost = 1'000'000'000;
    const auto given = static_cast<std::size_t>(arguments.integer(
        key, static_cast<std::int64_t>(otherwise), static_cast<std::int64_t>(least), kMost));
    if (given != otherwise) reader.write(std::string(key) + '=' + std::to_string(given));
    return given;
  };
  options.alpha = arguments.keyed_number("alpha", options.alpha, 1e-6, 1e6);
  if (options.alpha != 1) reader.write("alpha=" + format_number(options.alpha));
  if (arguments.word("budget", {"error", "hide"}) == "hide") {
    options.has_time_budget = true;
    reader.write("budget=hide");
    if (options.alpha != 1) {
      arguments.fail_argument("alpha",
                              "with budget=hide the limit is time, so that 'alpha', which "
                              "is about the error, means nothing");
    }
    if (options.accordion) {
      arguments.fail_argument("reference", "with budget=hide the limit is time, not an error");
    }
  }
  const std::string error = arguments.word("error", {"lag", "norms", "squares"});
  if (error != "lag") {
    options.measure = error == "norms" ? ErrorMeasure::norms : ErrorMeasure::squares;
    reader.write("error=" + error);
  }
  options.warmup = steps("warmup", options.warmup, 0);
  if (arguments.word("before", {"uniform", "none"}) == "none") {
    options.is_warmup_exact = true;
    reader.write("before=none");
  }
  options.period = steps("period", options.period, 1);
  options.window = steps("window", options.accordion ? options.period : options.window, 1);
  if (options.accordion && options.window != options.period) {
    arguments.fail_argument("window", "with reference=accordion statistics are of whole periods");
  }
  if (options.window > options.period) {
    arguments.fail_argument("window",
                            "'window' is more than 'period': plans are made from the "
                            "steps between them");
  }
  const double usual_guard = options.guard;
  options.guard = arguments.number_or_off("guard", usual_guard, 1, 1e6).value_or(0);
  if (options.guard == 0) {
    reader.write("guard=off");
  } else if (options.guard != usual_guard) {
    reader.write("guard=" + format_number(options.guard));
  }
  options.spec = reader.finish();
  return options;
}

}  // namespace gradwire
