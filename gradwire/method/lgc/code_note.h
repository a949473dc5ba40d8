// CodeNote: how the code that lgc learns fares in a step. A value type; as a Note it goes to logs,
// records and pages.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gradwire/method/note.h"

namespace gradwire {

struct CodeNote {
  // The bytes that this rank sent in the step, by their purpose. The same names in the same order
  // in all steps and on all ranks; together they are the bytes sent of the method's report.
  struct Part {
    std::string name;  // "places"
    std::uint64_t bytes = 0;
  };

  std::string phase;  // "full", "sparse" or "coded"
  std::vector<Part> parts = {};

  // Of the decoded mean, relative to the mean, for values that the code has not learned from: as it
  // was, or an estimate where nobody knows the mean. Nothing where nothing was coded.
  std::optional<double> error = {};
  bool is_estimate = false;
  double learn_seconds = 0;  // that the code took to learn
  std::string remark = {};   // a sentence where something has changed; usually empty
};

// In records `code`, of a step and, added up, of the run.
const NoteKind& code_note_kind();
Note to_note(const CodeNote& code);

}  // namespace gradwire
