#include "report/note_counts.h"

#include <algorithm>

namespace gradwire::report {

void NoteCounts::add(const record::StepRecord& step) {
  const Note& note = *step.note;
  totals_.add(note, step.traffic);
  if (!note.rows.empty()) ++notes_with_rows_;
  const auto* const stack = std::get_if<NoteStackView>(&kind().view.kind);
  if (stack == nullptr) return;
  const std::string name = text_of(note.get(stack->band));
  auto found = std::ranges::find(bands_, name, &Band::name);
  if (found == bands_.end()) found = bands_.insert(found, {.name = name});
  ++found->steps;
  found->bytes += static_cast<double>(step.traffic.bytes_sent);
}

}  // namespace gradwire::report
