// This process as one rank of several.
#pragma once

#include <functional>
#include <memory>

#include "gradwire/transport/transport.h"

namespace gradwire::ranks {

// What started the process says in its environment where it belongs: mpirun (OMPI_COMM_WORLD_SIZE)
// to a group by MPI; RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT, as torchrun sets them, to one
// over TCP, encrypted if there is a GRADWIRE_SECRET_FILE. Throws StartError.
std::unique_ptr<Transport> transport_from_environment();

// Calls f with that transport. What it throws is printed with the rank, and ends the connections,
// so that the others do not wait. Returns the exit code.
int run_rank(const std::function<void(Transport&)>& f);

}  // namespace gradwire::ranks
