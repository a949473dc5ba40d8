// Notes of kinds that no method has. Header only.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "gradwire/method/note.h"
#include "report/page.h"

namespace gradwire::report {

// A table of two columns, by part; drawn as a stack.
inline const NoteKind& stack_kind() {
  using Type = NoteField::Type;
  static const NoteKind kind{
      .step_name = "load",
      .run_name = "load",
      .fields = {{.name = "phase", .type = Type::text, .words = {"full", "sparse", "coded"}},
                 {.name = "error", .empty = NoteField::Empty::null},
                 {.name = "learn_ms", .unit = "ms"},
                 {.name = "parts", .type = Type::table}},
      .table = {.row = "part",
                .columns = {{.name = "name", .type = Type::text},
                            {.name = "bytes", .type = Type::count, .unit = "bytes"}},
                .is_mapping = true},
      .totals = {{.name = "mean_error",
                  .how = NoteTotal::How::mean,
                  .of = "error",
                  .only = {{"phase", std::string("coded")}},
                  .label = "mean error"},
                 {.name = "learn_ms", .of = "learn_ms", .unit = "ms", .label = "learning"}},
      .view = {.title = "Load",
               .hint = "What was sent.",
               .kind = NoteStackView{.stack_title = "Bytes",
                                     .band = "phase",
                                     .tall = "full",
                                     .line = "error",
                                     .line_title = "Error",
                                     .line_name = "error"}}};
  return kind;
}

inline Note stack_note(const std::string& phase,
                       const std::vector<std::pair<std::string, std::uint64_t>>& parts) {
  Note note(stack_kind());
  note.set("phase", phase);
  note.set("learn_ms", 500.0);
  for (const auto& [name, bytes] : parts) note.rows.push_back({name, bytes});
  return note;
}

// A table by layer; drawn as a map, or as it is.
inline NoteKind make_map_kind(bool is_drawn) {
  using Type = NoteField::Type;
  NoteKind kind{
      .step_name = is_drawn ? "choice" : "plain",
      .run_name = is_drawn ? "choices" : "plains",
      .fields = {{.name = "reason", .type = Type::text, .empty = NoteField::Empty::absent},
                 {.name = "layers", .type = Type::table}},
      .table = {.row = "layer",
                .columns = {{.name = "name", .type = Type::text},
                            {.name = "elements", .type = Type::count},
                            {.name = "choice", .type = Type::text},
                            {.name = "bits", .unit = "bits"}}},
      .is_list = true,
      .view = {.title = "Choices", .hint = "What was chosen."}};
  if (is_drawn) {
    kind.view.kind = NoteMapView{.value = "bits",
                                 .unit = "bits",
                                 .per = "per element",
                                 .detail = "choice",
                                 .weight = "elements",
                                 .overall = "all",
                                 .note = "choice"};
  }
  return kind;
}

inline const NoteKind& map_kind() {
  static const NoteKind kind = make_map_kind(true);
  return kind;
}

inline const NoteKind& plain_kind() {
  static const NoteKind kind = make_map_kind(false);
  return kind;
}

inline record::StepRecord noted(std::uint64_t step, const NoteKind& kind,
                                std::vector<std::vector<NoteValue>> rows) {
  Note note(kind);
  note.rows = std::move(rows);
  return {.step = step, .note = std::move(note)};
}

}  // namespace gradwire::report
