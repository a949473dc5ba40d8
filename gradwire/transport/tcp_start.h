// Connects a rank with all others, after they have met.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "gradwire/transport/channel.h"
#include "gradwire/transport/meeting.h"
#include "gradwire/transport/tcp_listener.h"

namespace gradwire {

// The channels to one peer: the first is for presence. A rank has none to itself.
struct TcpChannels {
  std::uint16_t port = 0;  // on which the rank listened
  std::vector<Channel> links;
};

// By rank. Every rank listens before it says so in the store. A rank connects to those before it
// and waits for those behind it. Throws StartError.
std::vector<TcpChannels> connect_ranks(std::size_t rank, const std::vector<RankInfo>& infos,
                                       std::size_t links, TcpListener& listener, StartStore& store,
                                       const std::shared_ptr<const TlsContext>& security = nullptr);

}  // namespace gradwire
