// Which ranks share a disk. Hosts of a cluster often have a disk each; the ranks of one host share
// it, and so do all ranks with a network file system.
#pragma once

#include <filesystem>

#include "gradwire/collective/communicator.h"

namespace gradwire::session {

// True on one rank for each disk: the lowest rank that sees the directory there. Creates the
// directory where it is missing. All ranks call it. Throws FileError and PeerError.
bool leads_disk(Communicator& communicator, const std::filesystem::path& directory);

}  // namespace gradwire::session
