#include "watch/access.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <optional>

#include "gradwire/core/error.h"
#include "gradwire/transport/host_addresses.h"
#include "watch/token.h"

namespace gradwire::watch {
namespace {

constexpr std::string_view kBearer = "Bearer ";

bool is_loopback(const in_addr& address) { return ntohl(address.s_addr) >> 24 == 127; }

bool is_loopback(const sockaddr* address) {
  if (address->sa_family == AF_INET) {
    return is_loopback(reinterpret_cast<const sockaddr_in*>(address)->sin_addr);
  }
  if (address->sa_family != AF_INET6) return false;
  return IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr) != 0;
}

// The value of a cookie: "a=1; b=2".
std::optional<std::string> cookie_value(std::string_view cookies, std::string_view name) {
  while (!cookies.empty()) {
    const std::size_t end = cookies.find(';');
    std::string_view cookie = cookies.substr(0, end);
    cookies.remove_prefix(end == cookies.npos ? cookies.size() : end + 1);
    cookie.remove_prefix(std::min(cookie.find_first_not_of(' '), cookie.size()));
    if (cookie.size() <= name.size() || cookie[name.size()] != '=') continue;
    if (cookie.starts_with(name)) return std::string(cookie.substr(name.size() + 1));
  }
  return std::nullopt;
}

}  // namespace

std::string cookie_name(std::uint16_t port) { return "gradwire-watch-" + std::to_string(port); }

bool is_loopback_name(std::string_view host) {
  const std::size_t bracket = host.find(']');
  const std::size_t colon = host.find(':', bracket == host.npos ? 0 : bracket);
  const std::string name(host.substr(0, colon));
  if (name == "localhost" || name == "[::1]") return true;
  in_addr address{};
  return inet_pton(AF_INET, name.c_str(), &address) == 1 && is_loopback(address);
}

bool is_loopback_address(const std::string& host) {
  std::string reason;
  const HostAddresses addresses = find_addresses(host, 0, SOCK_STREAM, reason);
  if (!addresses) throw Error("cannot listen at " + host + ": " + reason);
  for (const addrinfo* each = addresses.get(); each != nullptr; each = each->ai_next) {
    if (!is_loopback(each->ai_addr)) return false;
  }
  return true;
}

Verdict judge(const Claim& claim, std::string_view token, std::uint16_t port) {
  if (token.empty()) {
    return is_loopback_name(claim.host) ? Verdict::allowed : Verdict::wrong_host;
  }
  bool is_given = false;
  const auto is_right = [&](std::string_view given) {
    is_given = is_given || !given.empty();
    return is_token(given, token);
  };
  if (claim.authorization.starts_with(kBearer) &&
      is_right(std::string_view(claim.authorization).substr(kBearer.size()))) {
    return Verdict::allowed;
  }
  if (is_right(claim.token)) return Verdict::allowed;
  const auto cookie = cookie_value(claim.cookie, cookie_name(port));
  if (cookie && is_right(*cookie)) return Verdict::allowed;
  return is_given ? Verdict::wrong_token : Verdict::no_token;
}

}  // namespace gradwire::watch
