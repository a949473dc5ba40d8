// Senders and receivers over TCP. A transfer may be destroyed while it is under way: its memory is
// free then, and the messages of its lane still arrive in their order.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "gradwire/transport/tcp_mesh.h"
#include "gradwire/transport/transport.h"

namespace gradwire {

// The mesh, the peer and the memory outlive them.
std::unique_ptr<Sender> make_tcp_sender(TcpMesh& mesh, TcpPeer& peer, Tag tag,
                                        std::span<const std::byte> memory);
std::unique_ptr<Receiver> make_tcp_receiver(TcpMesh& mesh, TcpPeer& peer, Tag tag,
                                            std::span<std::byte> memory);

}  // namespace gradwire
