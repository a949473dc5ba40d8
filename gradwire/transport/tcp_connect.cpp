#include "gradwire/transport/tcp_connect.h"

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>

#include "gradwire/transport/host_addresses.h"
#include "gradwire/transport/start_store.h"
#include "gradwire/transport/transport.h"

namespace gradwire {
namespace {

using Clock = std::chrono::steady_clock;

// 0 or the reason in errno's numbers.
int connect_once(const addrinfo& address, Clock::time_point until, Descriptor& result) {
  Descriptor socket(::socket(address.ai_family, address.ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK,
                             address.ai_protocol));
  if (!socket) return errno;
  if (connect(socket.get(), address.ai_addr, address.ai_addrlen) != 0) {
    if (errno != EINPROGRESS) return errno;
    if (!wait_for_socket(socket.get(), POLLOUT, until)) return ETIMEDOUT;
    int error = 0;
    socklen_t bytes = sizeof(error);
    if (getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &bytes) != 0) return errno;
    if (error != 0) return error;
  }
  result = std::move(socket);
  return 0;
}

}  // namespace

Descriptor try_connect(const std::string& host, std::uint16_t port, Clock::time_point until,
                       std::string& reason) {
  const HostAddresses addresses = find_addresses(host, port, SOCK_STREAM, reason);
  for (const addrinfo* address = addresses.get(); address; address = address->ai_next) {
    constexpr std::chrono::seconds kOneTimeMax{5};  // then the next address has its turn
    Descriptor result;
    const int error = connect_once(*address, std::min(until, Clock::now() + kOneTimeMax), result);
    if (error == 0) return result;
    reason = std::strerror(error);
  }
  return {};
}

Descriptor connect_within(const std::string& host, std::uint16_t port,
                          std::chrono::milliseconds time_max) {
  const Clock::time_point until = Clock::now() + time_max;
  constexpr std::chrono::milliseconds kPause{50};
  for (;;) {
    std::string reason;
    if (Descriptor socket = try_connect(host, port, until, reason); socket) return socket;
    if (Clock::now() + kPause >= until) {
      throw StartError("rank 0 has not come within " + in_words(time_max) +
                       ": is it started, and can this host reach " + host + ":" +
                       std::to_string(port) + "? (" + reason + ")");
    }
    std::this_thread::sleep_for(kPause);
  }
}

bool wait_for_socket(int socket, short events, Clock::time_point until) {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now());
    constexpr std::chrono::milliseconds kLong = std::chrono::hours(1);
    pollfd polled{socket, events, 0};
    const int count =
        poll(&polled, 1,
             static_cast<int>(std::clamp(left, std::chrono::milliseconds{0}, kLong).count()));
    if (count > 0) return true;
    if (Clock::now() >= until) return false;
  }
}

}  // namespace gradwire
