#include "watch/run_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "console/format.h"
#include "gradwire/core/error.h"
#include "record/fields.h"
#include "record/run_record.h"

namespace gradwire::watch {
namespace {

using Phase = RunState::Phase;
using record::field;
using record::Json;

constexpr std::array<std::pair<Phase, const char*>, 6> kPhases = {{{Phase::waiting, "waiting"},
                                                                   {Phase::reading, "reading"},
                                                                   {Phase::running, "running"},
                                                                   {Phase::quiet, "quiet"},
                                                                   {Phase::finished, "finished"},
                                                                   {Phase::damaged, "damaged"}}};

std::string progress_words(const RunState& state) {
  std::string text = "step " + console::thousands(state.step);
  if (state.steps_planned) text += " of " + console::thousands(*state.steps_planned);
  if (state.metrics.loss) text += ", loss " + console::significant(*state.metrics.loss, 4);
  if (state.metrics.accuracy) {
    text += ", accuracy " + console::fixed(100 * *state.metrics.accuracy, 2) + "%";
  }
  if (state.is_elastic) text += fmt::format(", {} members", state.workers);
  return text;
}

std::string rate_words(const RunState& state) {
  if (!(state.steps_per_second > 0)) return "";
  std::string text = ", " + console::significant(state.steps_per_second, 3) + " steps/s";
  if (state.steps_planned && *state.steps_planned > state.step) {
    const auto left = static_cast<double>(*state.steps_planned - state.step);
    text += ", " + console::duration_text(left / state.steps_per_second) + " left";
  }
  return text;
}

}  // namespace

const char* name(Phase phase) { return kPhases[static_cast<std::size_t>(phase)].second; }

Json to_json(const RunState& state) {
  return {{"name", state.name},
          {"directory", state.directory},
          {"phase", name(state.phase)},
          {"problem", state.problem},
          {"share_read", state.share_read},
          {"step", state.step},
          {"steps_planned", state.steps_planned ? Json(*state.steps_planned) : Json()},
          {"steps_per_second", state.steps_per_second},
          {"age_seconds", state.age_seconds},
          {"workers", state.workers},
          {"is_elastic", state.is_elastic},
          {"metrics", record::to_json(state.metrics)},
          {"bytes_sent", state.traffic.bytes_sent},
          {"words", words_of(state)}};
}

RunState state_from(const Json& json) {
  const auto phase = field<std::string>(json, "phase");
  const auto found =
      std::ranges::find(kPhases, phase, [](const auto& each) { return std::string(each.second); });
  if (found == kPhases.end()) throw Error("a run cannot be in the phase '" + phase + "'");
  RunState state{.name = field<std::string>(json, "name"),
                 .directory = field<std::string>(json, "directory"),
                 .phase = found->first,
                 .problem = field<std::string>(json, "problem"),
                 .share_read = field<double>(json, "share_read"),
                 .step = field<std::uint64_t>(json, "step"),
                 .steps_per_second = field<double>(json, "steps_per_second"),
                 .age_seconds = field<double>(json, "age_seconds"),
                 .workers = field<std::uint64_t>(json, "workers"),
                 .is_elastic = field<bool>(json, "is_elastic"),
                 .metrics = record::metrics_from(field<Json>(json, "metrics")),
                 .traffic = {.bytes_sent = field<std::uint64_t>(json, "bytes_sent")}};
  if (!field<Json>(json, "steps_planned").is_null()) {
    state.steps_planned = field<std::uint64_t>(json, "steps_planned");
  }
  return state;
}

std::string words_of(const RunState& state) {
  const std::string name = (state.name.empty() ? state.directory : state.name) + ": ";
  switch (state.phase) {
    case Phase::waiting:
      return name + "waiting for the first step";
    case Phase::reading:
      return name + fmt::format("reading the record, {:.0f}% done", 100 * state.share_read);
    case Phase::running:
      return name + progress_words(state) + rate_words(state);
    case Phase::quiet:
      return name + progress_words(state) + ", no new step for " +
             console::duration_text(state.age_seconds);
    case Phase::finished:
      return name + "finished, " + progress_words(state);
    case Phase::damaged:
      return name + "the record cannot be read: " + state.problem;
  }
  return name;
}

}  // namespace gradwire::watch
