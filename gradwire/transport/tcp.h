// Ranks that are processes, on one host or many, over TCP.
#pragma once

#include <cstddef>
#include <memory>

#include "gradwire/transport/meeting_options.h"
#include "gradwire/transport/transport.h"

namespace gradwire {

inline constexpr std::size_t kTcpStreamsMax = 64;

struct TcpOptions {
  MeetingOptions meeting = {};

  // Connections for data to each peer, the same number on all ranks. More than one helps on links
  // that are fast and far.
  std::size_t streams = 1;
};

// Blocks until all ranks have come. Throws StartError.
std::unique_ptr<Transport> make_tcp_transport(const TcpOptions& options);

}  // namespace gradwire
