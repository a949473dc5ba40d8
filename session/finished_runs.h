// Runs that a command which goes on need not do again.
#pragma once

#include <cstdint>
#include <vector>

#include "gradwire/collective/communicator.h"
#include "record/json_file.h"
#include "session/run_directory.h"

namespace gradwire::session {

// Whether rank 0 finds the record of a run with this configuration and so many steps in the
// directory; it is then added to `runs`, on rank 0. All ranks call it. Throws FileError and
// PeerError.
bool take_finished(Communicator& communicator, const std::filesystem::path& directory,
                   const record::Json& configuration, std::uint64_t steps,
                   std::vector<FinishedRun>& runs);

}  // namespace gradwire::session
