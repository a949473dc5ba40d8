// The notes of one kind of a run, as its page shows them, and the facts that they add up to. Header
// only.
#pragma once

#include <algorithm>
#include <vector>

#include "report/json_values.h"
#include "report/note_counts.h"
#include "report/page.h"

namespace gradwire::report {

using NoteSteps = std::vector<const record::StepRecord*>;

struct ShownNotes {
  NoteCounts counts;     // of all notes
  NoteSteps steps = {};  // all of them, or some, in their order; the last one is among them
};

inline ShownNotes notes_of_kind(const NoteKind& kind, const Run& run) {
  const auto kept = std::ranges::find_if(
      run.notes, [&](const KeptNotes& notes) { return &notes.counts.kind() == &kind; });
  ShownNotes shown{.counts = kept == run.notes.end() ? NoteCounts(kind) : kept->counts};
  if (kept != run.notes.end()) {
    for (const record::StepRecord& step : kept->steps) shown.steps.push_back(&step);
    return shown;
  }
  for (const record::StepRecord& step : run.steps) {
    if (!step.note || step.note->kind != &kind) continue;
    shown.counts.add(step);
    shown.steps.push_back(&step);
  }
  return shown;
}

// [{"label", "value", "unit"}], for each total that has a label and a value.
inline Json facts_of(const NoteCounts& counts) {
  const NoteKind& kind = counts.kind();
  Json facts = Json::array();
  for (std::size_t i = 0; i < kind.totals.size(); ++i) {
    const NoteTotal& rule = kind.totals[i];
    const std::optional<double> value = counts.totals().number(i);
    if (rule.label.empty() || !value) continue;
    facts.push_back({{"label", rule.label}, {"value", rounded(value)}, {"unit", rule.unit}});
  }
  return facts;
}

}  // namespace gradwire::report
