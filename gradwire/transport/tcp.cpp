#include "gradwire/transport/tcp.h"

#include <string>
#include <utility>
#include <vector>

#include "gradwire/transport/meeting.h"
#include "gradwire/transport/route.h"
#include "gradwire/transport/tcp_listener.h"
#include "gradwire/transport/tcp_mesh.h"
#include "gradwire/transport/tcp_start.h"
#include "gradwire/transport/tcp_transport.h"
#include "gradwire/transport/tls_context.h"

namespace gradwire {
namespace {

void check(const TcpOptions& options) {
  check_meeting(options.meeting);
  if (options.streams >= 1 && options.streams <= kTcpStreamsMax) return;
  throw StartError("streams is " + std::to_string(options.streams) + ", but must be from 1 to " +
                   std::to_string(kTcpStreamsMax));
}

std::string own_address(const MeetingOptions& meeting) {
  if (!meeting.interface.empty()) return address_of_interface(meeting.interface);
  if (!meeting.directory.empty()) return "127.0.0.1";
  return local_address_towards(meeting.master_host, meeting.master_port);
}

// "10.0.0.3:4711 (host node3)"; an address of version 6 needs brackets.
std::string full_address(const RankInfo& info, std::uint16_t port) {
  const bool has_colons = info.address.find(':') != std::string::npos;
  const std::string address = has_colons ? "[" + info.address + "]" : info.address;
  return address + ":" + std::to_string(port) + " (host " + info.host + ")";
}

// Rank 0 also says whom it has refused: a rank with another secret may be among them.
std::vector<RankInfo> meet_all(const Rendezvous& rendezvous, std::size_t rank,
                               const RankInfo& self) {
  try {
    return meet(*rendezvous.store, rank, self, rendezvous.place);
  } catch (const StartError& error) {
    if (!rendezvous.server) throw;
    throw StartError(error.what() + rendezvous.server->refusals().in_words());
  }
}

std::unique_ptr<Transport> come_together(const TcpOptions& options) {
  const MeetingOptions& meeting = options.meeting;
  const auto security = TlsContext::open(options.security);
  const std::string address = own_address(meeting);
  TcpListener listener(address, security, 0, meeting.on_refusal);
  const RankInfo self{
      .size = meeting.size, .streams = options.streams, .address = address, .host = host_name()};
  const Rendezvous rendezvous = open_rendezvous(meeting, security);
  const auto infos = meet_all(rendezvous, meeting.rank, self);
  auto channels = connect_ranks(meeting.rank, infos, 1 + options.streams, listener,
                                *rendezvous.store, security);
  std::vector<std::string> addresses;
  TcpMesh mesh;
  for (std::size_t rank = 0; rank < infos.size(); ++rank) {
    addresses.push_back(full_address(infos[rank], channels[rank].port));
    if (rank == meeting.rank) continue;
    mesh.add(std::make_unique<TcpPeer>(rank, addresses[rank], std::move(channels[rank].links)));
  }
  part(*rendezvous.store, meeting.rank, meeting.size);
  listener.close();
  std::size_t refused = listener.refusals().count;
  if (rendezvous.server) {
    rendezvous.server->close();
    refused += rendezvous.server->refusals().count;
  }
  return make_tcp_transport(meeting.rank, std::move(addresses), std::move(mesh), refused);
}

}  // namespace

std::unique_ptr<Transport> make_tcp_transport(const TcpOptions& options) {
  check(options);
  if (options.meeting.size > 1) return come_together(options);
  return make_tcp_transport(0, std::vector<std::string>{"host " + host_name()}, TcpMesh(), 0);
}

std::string exposed_address(const TcpOptions& options) {
  if (options.meeting.size < 2 || options.security.is_encrypted()) return "";
  const std::string address = own_address(options.meeting);
  return is_public(address) ? address : "";
}

}  // namespace gradwire
