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
  const SpecArgument* const family = arguments.nested_or_first("family", "topk");
  if (family == nullptr) arguments.fail("'lgreco' needs a family: qsgd, topk, powersgd or any");
  const SpecArgument* const uniform = arguments.nested("uniform");
  if (family->stages.size() == 1 && family->stages.front().name == "any") {
    if (!family->stages.front().arguments.empty()) {
      arguments.fail_argument("family", "'any' has no arguments; take uniform=SPEC beside it");
    }
    reader.write("any");
    if (uniform == nullptr) return make_candidates(planned_families());
    Candidates candidates =
        make_candidates(planned_families(), reader.read_nested(*uniform, read_candidate));
    const std::string& spec = candidates.all[candidates.uniform].spec;
    if (candidates.uniform != make_candidates(planned_families()).uniform)
      reader.write("uniform=" + spec);
    return candidates;
  }
  if (uniform != nullptr) {
    arguments.fail_argument("uniform", "'uniform' is for lgreco(any); write lgreco(topk(1%))");
  }
  const std::string& given_name = family->stages.front().name;
  const auto is_given = [&](Family known) { return given_name == name(known); };
  if (!is_given(Family::exact) && std::ranges::none_of(planned_families(), is_given)) {
    arguments.fail_argument("family", "there is no family called '" + given_name +
                                          "'; there are qsgd, topk, powersgd and any");
  }
  const Candidate given = reader.read_nested(*family, read_candidate);
  if (given.family == Family::exact) {
    arguments.fail_argument("family",
                            "'none' has no parameter to plan; take qsgd, topk, powersgd "
                            "or any");
  }
  Candidates candidates = make_candidates(std::array{given.family}, given);
  const std::string& spec = candidates.all[candidates.uniform].spec;
  const bool is_usual = candidates.uniform == make_candidates(std::array{given.family}).uniform;
  reader.write(is_usual ? name(given.family) : spec);
  return candidates;
}

}  // namespace

LgrecoOptions read_lgreco_options(MethodReader& reader) {
  StageReader& arguments = reader.arguments();
  LgrecoOptions options;
  options.candidates = read_candidates(reader);
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
  options.window = steps("window", options.window, 1);
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
