// The stream between two ranks: whatever a peer sends on its connections, messages go into the
// memory that was announced for them and nowhere else, or the connection ends.
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "fuzz/target.h"
#include "gradwire/core/check.h"
#include "gradwire/transport/tcp_mesh.h"
#include "gradwire/transport/tcp_transfer.h"

namespace gradwire::fuzz {
namespace {

constexpr std::size_t kLinks = 2;
constexpr std::size_t kReceivers = 3;
constexpr std::size_t kRoom = 150;
constexpr std::byte kUntouched{0x5a};

// A peer whose connections end at `taps`.
std::unique_ptr<TcpPeer> make_peer(std::array<Descriptor, kLinks>& taps) {
  std::vector<Channel> channels;
  for (Descriptor& tap : taps) {
    int sockets[2];
    GW_CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, sockets) == 0);
    tap = Descriptor(sockets[0]);
    channels.emplace_back(Descriptor(sockets[1]), Channel::Role::accepts);
  }
  return std::make_unique<TcpPeer>(1, "peer", std::move(channels));
}

bool is_done(Transfer& transfer) try { return transfer.done(); } catch (const PeerError& error) {
  GW_CHECK(error.rank() == 1);
  return false;
}

}  // namespace

void test_input(std::span<const std::byte> input) {
  std::array<Descriptor, kLinks> taps;
  TcpMesh mesh;
  mesh.add(make_peer(taps));
  // Each room has a strip behind it that nobody may touch.
  std::vector<std::vector<std::byte>> rooms(kReceivers, std::vector(2 * kRoom, kUntouched));
  std::vector<std::unique_ptr<Receiver>> receivers;
  for (auto& room : rooms) {
    receivers.push_back(
        make_tcp_receiver(mesh, mesh.peer(1), {.lane = Lane::up}, std::span(room).first(kRoom)));
    receivers.back()->start();
  }
  const std::vector<std::byte> message(64);
  const auto sender = make_tcp_sender(mesh, mesh.peer(1), {.lane = Lane::down}, message);
  sender->start(message.size());

  // The first half goes to the one connection, the second to the other, in small parts.
  const std::span<const std::byte> halves[kLinks] = {input.first(input.size() / 2),
                                                     input.subspan(input.size() / 2)};
  for (std::size_t at = 0; at < halves[1].size(); at += 100) {
    for (std::size_t link = 0; link < kLinks; ++link) {
      if (at >= halves[link].size()) continue;
      const auto part =
          halves[link].subspan(at, std::min<std::size_t>(100, halves[link].size() - at));
      send(taps[link].get(), part.data(), part.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    }
    mesh.poll({});
    if (at == 100) receivers.pop_back();  // given up, perhaps in the midst of its message
  }
  for (auto& receiver : receivers) is_done(*receiver);
  is_done(*sender);
  for (const auto& room : rooms) {
    GW_CHECK(std::ranges::all_of(std::span(room).subspan(kRoom),
                                 [](std::byte b) { return b == kUntouched; }));
  }
}

}  // namespace gradwire::fuzz
