// NoteCounts: what the notes of one kind of a run add up to. For one thread at a time.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "gradwire/method/note.h"
#include "gradwire/method/note_totals.h"
#include "record/step_records.h"

namespace gradwire::report {

class NoteCounts {
 public:
  explicit NoteCounts(const NoteKind& kind) : totals_(kind) {}

  // A step with a note of the kind.
  void add(const record::StepRecord& step);

  // The steps in which the field of a stack's strip had one value.
  struct Band {
    std::string name;
    std::size_t steps = 0;
    double bytes = 0;  // sent in these steps
  };

  const NoteKind& kind() const { return totals_.kind(); }
  std::size_t notes() const { return totals_.notes(); }
  std::size_t notes_with_rows() const { return notes_with_rows_; }
  const NoteTotals& totals() const { return totals_; }
  // In the order in which they first came. None for kinds that are not drawn as a stack.
  const std::vector<Band>& bands() const { return bands_; }

 private:
  NoteTotals totals_;
  std::size_t notes_with_rows_ = 0;
  std::vector<Band> bands_;
};

}  // namespace gradwire::report
