// Connecting to a port that may not be open yet, with an end to the waiting.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "gradwire/transport/descriptor.h"

namespace gradwire {

// A non-blocking socket, connected to the first address of the host that answers. Tries until the
// time is over, and then throws StartError.
Descriptor connect_within(const std::string& host, std::uint16_t port,
                          std::chrono::milliseconds time_max);

// The same, but each address is tried only once. Nothing, and why, if none answers.
Descriptor try_connect(const std::string& host, std::uint16_t port,
                       std::chrono::steady_clock::time_point until, std::string& reason);

// Waits for poll()'s events on a socket. False: the time is over.
bool wait_for_socket(int socket, short events, std::chrono::steady_clock::time_point until);

}  // namespace gradwire
