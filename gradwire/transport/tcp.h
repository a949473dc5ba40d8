// Ranks that are processes, on one host or many, over TCP.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "gradwire/transport/meeting_options.h"
#include "gradwire/transport/security.h"
#include "gradwire/transport/transport.h"

namespace gradwire {

inline constexpr std::size_t kTcpStreamsMax = 64;

struct TcpOptions {
  MeetingOptions meeting = {};

  // Connections for data to each peer, the same number on all ranks. More than one helps on links
  // that are fast and far.
  std::size_t streams = 1;

  // Of the rendezvous by TCP and of all connections; the same on all ranks.
  SecurityOptions security = {};
};

// Blocks until all ranks have come. Throws StartError, and UsageError and FileError where the
// options of security are wrong.
std::unique_ptr<Transport> make_tcp_transport(const TcpOptions& options);

// The public address on which a rank with these options would listen without encryption, so that
// anybody may connect to it and the network may read its gradients. Empty: there is none. Throws
// StartError.
std::string exposed_address(const TcpOptions& options);

}  // namespace gradwire
