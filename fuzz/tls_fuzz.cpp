// Bytes of a stranger at the port of a rank with a secret: the handshake never succeeds, and the
// reason never quotes them.
#include <sys/socket.h>

#include <memory>
#include <string_view>
#include <utility>

#include "fuzz/target.h"
#include "gradwire/core/check.h"
#include "gradwire/transport/channel.h"
#include "gradwire/transport/tls_context.h"

namespace gradwire::fuzz {

void test_input(std::span<const std::byte> input) {
  static const auto security = std::make_shared<const TlsContext>(Secret::random());
  int sockets[2];
  GW_CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, sockets) == 0);
  const Descriptor stranger(sockets[0]);
  Channel channel(Descriptor(sockets[1]), Channel::Role::accepts, security);
  for (int turn = 0; turn < 4; ++turn) {
    const ssize_t sent = send(stranger.get(), input.data(), input.size(), MSG_NOSIGNAL);
    if (sent > 0) input = input.subspan(static_cast<std::size_t>(sent));
    const Channel::State state = channel.handshake();
    GW_CHECK(state != Channel::State::ready);
    if (state == Channel::State::closed) break;
  }
  constexpr std::size_t kReasonBytesMax = 200;
  GW_CHECK(channel.reason().size() <= kReasonBytesMax);
}

}  // namespace gradwire::fuzz
