// Runs that a resumed command skips, because their records are complete.
#pragma once

#include <cstdint>
#include <vector>

#include "gradwire/collective/communicator.h"
#include "record/json_file.h"
#include "session/run_directory.h"

namespace gradwire::session {

// True if the directory has the record of a run with this configuration and number of steps. Rank 0
// looks for it, and adds it to its `runs`. All ranks call it. Throws FileError and PeerError.
bool take_finished(Communicator& communicator, const std::filesystem::path& directory,
                   const record::Json& configuration, std::uint64_t steps,
                   std::vector<FinishedRun>& runs);

}  // namespace gradwire::session
