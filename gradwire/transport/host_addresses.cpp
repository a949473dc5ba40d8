#include "gradwire/transport/host_addresses.h"

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

}  // namespace gradwire
