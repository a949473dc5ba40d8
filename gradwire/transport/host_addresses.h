// Resolves host names to addresses.
#pragma once

#include <netdb.h>

#include <cstdint>
#include <memory>
#include <string>

namespace gradwire {

struct FreeAddresses {
  void operator()(addrinfo* list) const { freeaddrinfo(list); }
};
using HostAddresses = std::unique_ptr<addrinfo, FreeAddresses>;

// The host's IPv4 and IPv6 addresses for sockets of that kind (SOCK_STREAM or SOCK_DGRAM). Returns
// null and sets `reason` if the host has none.
HostAddresses find_addresses(const std::string& host, std::uint16_t port, int kind,
                             std::string& reason);

// The port that a socket is bound to.
std::uint16_t port_of(int socket);

}  // namespace gradwire
