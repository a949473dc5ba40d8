#include "gradwire/method/lgreco/plan_note.h"

#include <cstdio>

#include "gradwire/method/note_totals.h"

namespace gradwire {
namespace {

constexpr double kMsPerSecond = 1e3;

template <class... Numbers>
std::string formatted(const char* format, Numbers... numbers) {
  char text[320];
  std::snprintf(text, sizeof text, format, numbers...);
  return text;
}

std::string line_of(const Note& note) {
  const auto number = [&](const char* field) { return number_of(note.get(field)).value_or(0); };
  const std::string reason = text_of(note.get("reason"));
  if (note.rows.empty()) return reason;
  const std::string line =
      reason +
      formatted(
          " %.0f bytes instead of %.0f; the error that is planned by is %.3g of the gradient "
          "instead of %.3g.",
          number("bytes"), number("uniform_bytes"), number("error"), number("uniform_error"));
  if (!number_of(note.get("budget.groups"))) return line;
  return line +
         formatted(
             " The link takes %.3g MB/s and %.3g ms for each exchange; gradients become ready over "
             "%.3g ms, in %.0f groups. Their exchange should take %.3g of %.3g ms that it can hide "
             "behind, and for the last group %.3g ms more.",
             1e-6 * number("budget.link_bytes_per_second"), number("budget.latency_ms"),
             number("budget.compute_ms"), number("budget.groups"), number("budget.hidden_ms"),
             number("budget.hidden_room_ms"), number("budget.visible_ms"));
}

std::string summary_of(const NoteTotals& totals, double seconds) {
  if (totals.notes() == 0) {
    return "The run was over before a plan was made: all layers had the same setting.";
  }
  const double made = totals.number("plans made").value_or(0);
  const double planning = totals.number("planning_ms").value_or(0) / kMsPerSecond;
  return formatted("%.0f plan%s; statistics and planning took %.2g%% of the time of rank 0.", made,
                   made == 1 ? "" : "s", seconds > 0 ? 100 * planning / seconds : 0);
}

NoteKind make_kind() {
  using Type = NoteField::Type;
  using Empty = NoteField::Empty;
  const auto number = [](const char* name, const char* unit, Empty empty = Empty::null) {
    return NoteField{.name = name, .type = Type::number, .empty = empty, .unit = unit};
  };
  return {
      .step_name = "plan",
      .run_name = "plans",
      .fields = {{.name = "reason", .type = Type::text},
                 number("bytes", "bytes"),
                 number("uniform_bytes", "bytes"),
                 number("error", ""),
                 number("uniform_error", ""),
                 number("planning_ms", "ms"),
                 number("budget.compute_ms", "ms", Empty::absent),
                 number("budget.link_bytes_per_second", "bytes/s", Empty::absent),
                 number("budget.latency_ms", "ms", Empty::absent),
                 {.name = "budget.groups", .type = Type::count, .empty = Empty::absent},
                 number("budget.hidden_room_ms", "ms", Empty::absent),
                 number("budget.hidden_ms", "ms", Empty::absent),
                 number("budget.visible_ms", "ms", Empty::absent),
                 {.name = "layers", .type = Type::table}},
      .table = {.row = "layer",
                .columns = {{.name = "name", .type = Type::text},
                            {.name = "elements", .type = Type::count},
                            {.name = "choice", .type = Type::text},
                            number("bits", "bits"),
                            number("bytes", "bytes"),
                            number("error", "")}},
      .is_list = true,
      .totals = {{.name = "plans made", .how = NoteTotal::How::count, .of = "layers"},
                 {.name = "planning_ms", .of = "planning_ms", .unit = "ms"}},
      .view = {.title = "Bits per layer",
               .hint =
                   "What the method chose for each layer, from plan to plan. Stronger colour is "
                   "more bits.",
               .kind = NoteMapView{.value = "bits",
                                   .unit = "bits",
                                   .per = "per element",
                                   .detail = "choice",
                                   .weight = "elements",
                                   .overall = "whole model",
                                   .note = "plan"}},
      .line = line_of,
      .summary = summary_of};
}

}  // namespace

const NoteKind& plan_note_kind() {
  static const NoteKind kind = make_kind();
  return kind;
}

Note to_note(const PlanNote& plan) {
  Note note(plan_note_kind());
  note.set("reason", plan.reason);
  note.set("bytes", plan.bytes);
  note.set("uniform_bytes", plan.uniform_bytes);
  note.set("error", plan.error);
  note.set("uniform_error", plan.uniform_error);
  note.set("planning_ms", kMsPerSecond * plan.seconds);
  if (plan.budget) {
    note.set("budget.compute_ms", kMsPerSecond * plan.budget->compute_seconds);
    note.set("budget.link_bytes_per_second", plan.budget->bytes_per_second);
    note.set("budget.latency_ms", kMsPerSecond * plan.budget->latency_seconds);
    note.set("budget.groups", std::uint64_t{plan.budget->groups});
    note.set("budget.hidden_room_ms", kMsPerSecond * plan.budget->hidden_room_seconds);
    note.set("budget.hidden_ms", kMsPerSecond * plan.budget->hidden_seconds);
    note.set("budget.visible_ms", kMsPerSecond * plan.budget->visible_seconds);
  }
  for (const PlanNote::Layer& layer : plan.layers) {
    const double bits = 8 * layer.bytes / static_cast<double>(layer.elements);
    note.rows.push_back(
        {layer.name, std::uint64_t{layer.elements}, layer.choice, bits, layer.bytes, layer.error});
  }
  return note;
}

}  // namespace gradwire
