#include "gradwire/method/lgc/code_note.h"

#include <cstdio>

#include "gradwire/method/note_totals.h"

namespace gradwire {
namespace {

constexpr double kMsPerSecond = 1e3;

std::string significant(double number, int digits) {
  char text[32];
  std::snprintf(text, sizeof text, "%.*g", digits, number);
  return text;
}

// 12,345
std::string thousands(std::uint64_t number) {
  std::string text = std::to_string(number);
  for (std::size_t digits = 3; digits < text.size(); digits += 4) {
    text.insert(text.size() - digits, ",");
  }
  return text;
}

std::string line_of(const Note& note) { return text_of(note.get("remark")); }

std::string summary_of(const NoteTotals& totals, double seconds) {
  if (totals.notes() == 0) return "";
  if (totals.count("phases", "coded") == 0) {
    return "The code was never used: " + thousands(totals.count("phases", "sparse")) +
           " steps with exact values were not enough.";
  }
  const std::optional<double> error = totals.number("mean_error");
  const double learning = totals.number("learn_ms").value_or(0) / kMsPerSecond;
  return "A step by the code sent " +
         significant(1e-3 * totals.number("coded_bytes_per_step").value_or(0), 3) + " kB" +
         (error ? " and lost " + significant(*error, 2) + " of the mean's norm" : "") +
         "; learning took " + significant(seconds > 0 ? 100 * (learning / seconds) : 0, 2) +
         "% of the time of rank 0.";
}

NoteKind make_kind() {
  using Type = NoteField::Type;
  using How = NoteTotal::How;
  const std::string coded = "coded";
  return {
      .step_name = "code",
      .run_name = "code",
      .fields = {{.name = "phase", .type = Type::text, .words = {"full", "sparse", coded}},
                 {.name = "error", .type = Type::number, .empty = NoteField::Empty::null},
                 {.name = "is_estimate", .type = Type::flag},
                 {.name = "learn_ms", .type = Type::number, .unit = "ms"},
                 {.name = "parts", .type = Type::table},
                 {.name = "remark", .type = Type::text, .empty = NoteField::Empty::absent}},
      .table = {.row = "part",
                .columns = {{.name = "name", .type = Type::text},
                            {.name = "bytes", .type = Type::count, .unit = "bytes"}},
                .is_mapping = true,
                .is_mean_over_ranks = true},
      .totals = {{.name = "phases", .how = How::count, .of = "phase"},
                 {.name = "parts", .of = "parts", .unit = "bytes"},
                 {.name = "coded_bytes_per_step",
                  .how = How::mean,
                  .of = kBytesSent,
                  .only = {{"phase", coded}},
                  .unit = "bytes"},
                 {.name = "mean_error",
                  .how = How::mean,
                  .of = "error",
                  .only = {{"phase", coded}},
                  .label = "mean error of coded steps"},
                 {.name = "measured_error",
                  .how = How::mean,
                  .of = "error",
                  .only = {{"phase", coded}, {"is_estimate", false}}},
                 {.name = "learn_ms", .of = "learn_ms", .unit = "ms", .label = "learning"}},
      .view = {.title = "What the learned code sends",
               .hint = "What a worker sends in a step, by what it is for, from full gradients to "
                       "coded ones; and the error of the decoded mean, relative to the mean.",
               .kind = NoteStackView{.stack_title = "Bytes per step",
                                     .band = "phase",
                                     .tall = "full",
                                     .line = "error",
                                     .line_title = "Error of the code",
                                     .line_name = "error"}},
      .line = line_of,
      .summary = summary_of};
}

}  // namespace

const NoteKind& code_note_kind() {
  static const NoteKind kind = make_kind();
  return kind;
}

Note to_note(const CodeNote& code) {
  Note note(code_note_kind());
  note.set("phase", code.phase);
  if (code.error) note.set("error", *code.error);
  note.set("is_estimate", code.is_estimate);
  note.set("learn_ms", kMsPerSecond * code.learn_seconds);
  if (!code.remark.empty()) note.set("remark", code.remark);
  for (const CodeNote::Part& part : code.parts) note.rows.push_back({part.name, part.bytes});
  return note;
}

}  // namespace gradwire
