// A transport of ranks that are connected already.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "gradwire/transport/tcp_mesh.h"
#include "gradwire/transport/transport.h"

namespace gradwire {

// The mesh has a peer for each rank but this one. Addresses are by rank, for messages.
std::unique_ptr<Transport> make_tcp_transport(std::size_t rank, std::vector<std::string> addresses,
                                              TcpMesh mesh, std::size_t refused_connections = 0);

}  // namespace gradwire
