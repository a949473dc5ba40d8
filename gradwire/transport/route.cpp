#include "gradwire/transport/route.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "gradwire/transport/descriptor.h"
#include "gradwire/transport/host_addresses.h"
#include "gradwire/transport/transport.h"

namespace gradwire {
namespace {

// Empty: it has none.
std::string numeric_text(const sockaddr* address, socklen_t bytes) {
  char text[NI_MAXHOST];
  if (getnameinfo(address, bytes, text, sizeof(text), nullptr, 0, NI_NUMERICHOST) != 0) return "";
  return text;
}

// Connecting a UDP socket picks the route and with it the local address. Empty: there is none, see
// errno.
std::string local_end(const addrinfo& address) {
  const Descriptor socket(
      ::socket(address.ai_family, address.ai_socktype | SOCK_CLOEXEC, address.ai_protocol));
  sockaddr_storage local{};
  socklen_t bytes = sizeof(local);
  auto* end = reinterpret_cast<sockaddr*>(&local);
  if (!socket || connect(socket.get(), address.ai_addr, address.ai_addrlen) != 0 ||
      getsockname(socket.get(), end, &bytes) != 0) {
    return "";
  }
  return numeric_text(end, bytes);
}

std::string interface_names() {
  const std::unique_ptr<struct if_nameindex, decltype(&if_freenameindex)> list(if_nameindex(),
                                                                               &if_freenameindex);
  std::string names;
  for (const auto* entry = list.get(); entry && entry->if_index != 0; ++entry) {
    names += (names.empty() ? "" : ", ") + std::string(entry->if_name);
  }
  return names;
}

}  // namespace

std::string local_address_towards(const std::string& host, std::uint16_t port) {
  std::string reason;
  const HostAddresses addresses = find_addresses(host, port, SOCK_DGRAM, reason);
  for (const addrinfo* address = addresses.get(); address; address = address->ai_next) {
    const std::string local = local_end(*address);
    if (!local.empty()) return local;
    reason = std::strerror(errno);
  }
  throw StartError("there is no way from here to " + host + ": " + reason);
}

void check_interface(const std::string& name) {
  if (if_nametoindex(name.c_str()) != 0) return;
  throw StartError("there is no network interface " + name + " here, only " + interface_names());
}

std::string address_of_interface(const std::string& name) {
  check_interface(name);
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) throw StartError(std::string("no interfaces: ") + strerror(errno));
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owner(list, &freeifaddrs);
  for (const int family : {AF_INET, AF_INET6}) {
    for (const ifaddrs* entry = list; entry; entry = entry->ifa_next) {
      if (name != entry->ifa_name || !entry->ifa_addr) continue;
      if (entry->ifa_addr->sa_family != family) continue;
      const socklen_t bytes = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
      const std::string text = numeric_text(entry->ifa_addr, bytes);
      if (!text.empty()) return text;
    }
  }
  throw StartError("the network interface " + name + " has no address");
}

bool is_address(const std::string& text) {
  in6_addr bytes{};
  return inet_pton(AF_INET, text.c_str(), &bytes) == 1 ||
         inet_pton(AF_INET6, text.c_str(), &bytes) == 1;
}

bool is_loopback(const std::string& address) {
  return address.starts_with("127.") || address == "::1";
}

bool is_public(const std::string& address) {
  struct Network {
    std::uint32_t address;
    int bits;
  };
  constexpr Network kNotPublic[] = {
      {0x00000000, 8},   // 0.0.0.0
      {0x0a000000, 8},   // 10.0.0.0
      {0x64400000, 10},  // 100.64.0.0, of providers
      {0x7f000000, 8},   // 127.0.0.0
      {0xa9fe0000, 16},  // 169.254.0.0, of one link
      {0xac100000, 12},  // 172.16.0.0
      {0xc0a80000, 16},  // 192.168.0.0
  };
  const std::string text = address.substr(0, address.find('%'));  // without the interface
  in_addr four{};
  if (inet_pton(AF_INET, text.c_str(), &four) == 1) {
    const std::uint32_t number = ntohl(four.s_addr);
    return std::ranges::none_of(kNotPublic, [&](const Network& network) {
      return (number ^ network.address) >> (32 - network.bits) == 0;
    });
  }
  in6_addr six{};
  if (inet_pton(AF_INET6, text.c_str(), &six) != 1) return false;
  return (six.s6_addr[0] & 0xe0) == 0x20;  // 2000::/3
}

std::string host_name() {
  char name[256] = "";
  if (gethostname(name, sizeof(name) - 1) != 0) return "unknown";
  return name;
}

}  // namespace gradwire
