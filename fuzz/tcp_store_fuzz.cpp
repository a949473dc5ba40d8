// A client of the rendezvous that says anything behind the right greeting: its session ends or
// waits for more, and holds no more bytes than one request may have.
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <utility>

#include "fuzz/target.h"
#include "gradwire/core/check.h"
#include "gradwire/transport/tcp_store_session.h"

namespace gradwire::fuzz {

void test_input(std::span<const std::byte> input) {
  int sockets[2];
  GW_CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, sockets) == 0);
  const Descriptor client(sockets[0]);
  TcpStoreSession session(Channel(Descriptor(sockets[1]), Channel::Role::accepts), 1);
  StoreKeys keys;
  const StoreGreeting::Bytes greeting = StoreGreeting::write(1);
  GW_CHECK(send(client.get(), greeting.data(), greeting.size(), MSG_NOSIGNAL) ==
           static_cast<ssize_t>(greeting.size()));
  GW_CHECK(session.advance(POLLIN, keys));
  while (!input.empty()) {
    const auto part = input.first(std::min<std::size_t>(input.size(), 1000));
    input = input.subspan(part.size());
    if (send(client.get(), part.data(), part.size(), MSG_NOSIGNAL) < 0) break;
    if (!session.advance(POLLIN, keys)) break;
    std::array<std::byte, 4096> replies;
    while (recv(client.get(), replies.data(), replies.size(), MSG_DONTWAIT) > 0) {
    }
  }
  for (const auto& [key, value] : keys) {
    GW_CHECK(key.size() <= kStoreKeyBytesMax && value.size() <= kStoreValueBytesMax);
  }
}

}  // namespace gradwire::fuzz
