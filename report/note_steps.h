// The steps of a run that have a note of one kind, and the facts that the notes add up to. Header
// only.
#pragma once

#include <vector>

#include "gradwire/method/note.h"
#include "gradwire/method/note_totals.h"
#include "report/json_values.h"
#include "report/page.h"

namespace gradwire::report {

using NoteSteps = std::vector<const record::StepRecord*>;

inline NoteSteps steps_with(const NoteKind& kind, const Run& run) {
  NoteSteps steps;
  for (const record::StepRecord& step : run.steps) {
    if (step.note && step.note->kind == &kind) steps.push_back(&step);
  }
  return steps;
}

// [{"label", "value", "unit"}], for each total that has a label and a value.
inline Json facts_of(const NoteKind& kind, const NoteSteps& steps) {
  NoteTotals totals(kind);
  for (const record::StepRecord* step : steps) totals.add(*step->note, step->traffic);
  Json facts = Json::array();
  for (std::size_t i = 0; i < kind.totals.size(); ++i) {
    const NoteTotal& rule = kind.totals[i];
    const std::optional<double> value = totals.number(i);
    if (rule.label.empty() || !value) continue;
    facts.push_back({{"label", rule.label}, {"value", rounded(value)}, {"unit", rule.unit}});
  }
  return facts;
}

}  // namespace gradwire::report
