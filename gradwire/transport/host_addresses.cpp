#include "gradwire/transport/host_addresses.h"

#include <netinet/in.h>
#include <sys/socket.h>

namespace gradwire {

HostAddresses find_addresses(const std::string& host, std::uint16_t port, int kind,
                             std::string& reason) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = kind;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* list = nullptr;
  const int error = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &list);
  if (error != 0) {
    reason = gai_strerror(error);
    return nullptr;
  }
  return HostAddresses(list);
}

std::uint16_t port_of(int socket) {
  sockaddr_storage address{};
  socklen_t bytes = sizeof(address);
  getsockname(socket, reinterpret_cast<sockaddr*>(&address), &bytes);
  return ntohs(address.ss_family == AF_INET6
                   ? reinterpret_cast<const sockaddr_in6*>(&address)->sin6_port
                   : reinterpret_cast<const sockaddr_in*>(&address)->sin_port);
}

}  // namespace gradwire
