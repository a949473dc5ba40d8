// The note of local(...): what a step did, for logs, records and pages.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "gradwire/method/note.h"

namespace gradwire {

const NoteKind& local_note_kind();

struct LocalStepFacts {
  enum class Kind { synchronous, own, exchange };
  Kind kind = Kind::own;
  std::uint64_t fragments = 0;  // that have arrived
  // From this worker's parameters to the new model, over how far it had moved in the round; of the
  // last fragment that has arrived.
  std::optional<double> drift = {};
  std::optional<std::uint64_t> every = {};  // in the first step of the workers' own
};

std::shared_ptr<const Note> make_local_note(const LocalStepFacts& facts);

}  // namespace gradwire
