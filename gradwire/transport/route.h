// Which of this host's addresses the other ranks can reach. Not the one of the host's own name:
// Debian maps that to 127.0.1.1.
#pragma once

#include <cstdint>
#include <string>

namespace gradwire {

// The address from which packets to that host would leave. Sends nothing. Throws StartError.
std::string local_address_towards(const std::string& host, std::uint16_t port);

// Throws StartError that names the interfaces that exist if that one does not.
void check_interface(const std::string& name);

// The interface's address: of version 4 if it has one, so that all ranks take the same kind.
// Throws StartError.
std::string address_of_interface(const std::string& name);

// Whether the text is an address and no name.
bool is_address(const std::string& text);

bool is_loopback(const std::string& address);

// A numeric address that anybody on the internet may send packets to: none of loopback, and none
// that is reserved for private networks or for one link.
bool is_public(const std::string& address);

std::string host_name();

}  // namespace gradwire
