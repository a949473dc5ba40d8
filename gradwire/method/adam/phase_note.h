// The note of adam(...): the phase of a step, for logs, records and pages.
#pragma once

#include <cstdint>
#include <memory>

#include "gradwire/method/adam/phases.h"
#include "gradwire/method/note.h"

namespace gradwire {

const NoteKind& adam_note_kind();

// `steps` were done before this one; `is_first` if it is the first after the warm-up.
std::shared_ptr<const Note> make_adam_note(AdamPhase phase, std::uint64_t steps, bool is_first);

}  // namespace gradwire
