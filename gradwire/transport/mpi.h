// Ranks of an MPI job. Present in every build; where gradwire was built without MPI, making one
// says so.
#pragma once

#include <memory>

#include "gradwire/transport/transport.h"

namespace gradwire {

// Whether this build can.
bool has_mpi();

// Initialises MPI if nobody has. The transport finalises it when it was the one to initialise it,
// and may be made once in a process. Throws StartError.
std::unique_ptr<Transport> make_mpi_transport();

}  // namespace gradwire
