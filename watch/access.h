// Who may ask a watcher. With a token, everybody who has it. Without one, only browsers and
// programs that called this machine by a name of its own: a page from elsewhere, whose name was
// made to point here, cannot read what the watcher says. Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace gradwire::watch {

// What a request says of itself. Empty texts for absent headers.
struct Claim {
  std::string host = {};           // the header Host
  std::string authorization = {};  // the header Authorization
  std::string cookie = {};         // the header Cookie
  std::string token = {};          // of the query
};

enum class Verdict { allowed, wrong_host, no_token, wrong_token };

// `token` is empty if none is needed.
Verdict judge(const Claim& claim, std::string_view token, std::uint16_t port);

// Cookies do not tell ports apart, so that the name does.
std::string cookie_name(std::uint16_t port);

// Whether the header names this machine: localhost, 127.0.0.0/8 or [::1], with or without a port.
bool is_loopback_name(std::string_view host);

// Whether all addresses of the host are loopback addresses. Throws Error if it has none.
bool is_loopback_address(const std::string& host);

}  // namespace gradwire::watch
