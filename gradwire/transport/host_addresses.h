// Names to addresses.
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

// A list, IPv4 and IPv6, of the host's addresses for sockets of that kind (SOCK_STREAM or
// SOCK_DGRAM). If there is none, nothing, and the reason.
HostAddresses find_addresses(const std::string& host, std::uint16_t port, int kind,
                             std::string& reason);

}  // namespace gradwire
