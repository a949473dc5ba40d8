// Links of a mesh whose channels are encrypted.
#include <memory>
#include <vector>

#include "gradwire/transport/tcp_hello.h"
#include "gradwire/transport/tcp_mesh.h"
#include "gradwire/transport/tcp_test_support.h"
#include "gradwire/transport/tcp_transfer.h"
#include "gradwire/transport/tls_test_support.h"
#include "gtest/gtest.h"

namespace gradwire {
namespace {

// The peer's first record comes together with its welcome, so TLS has both when the mesh begins.
TEST(TlsMesh, RecordsThatCameWithTheWelcomeAreRead) {
  constexpr std::size_t kLinks = 2;
  const Security security = security_of(1);
  std::vector<Channel> connects;
  std::vector<Channel> accepts;
  const auto until = std::chrono::steady_clock::now() + kPatience;
  for (std::size_t link = 0; link < kLinks; ++link) {
    ChannelPair pair = channel_pair(security, security);
    shake_hands(pair);
    ASSERT_TRUE(write_all(pair.accepts, {&kTcpWelcome, 1}, until));
    connects.push_back(std::move(pair.connects));
    accepts.push_back(std::move(pair.accepts));
  }

  TcpMesh one;
  one.add(std::make_unique<TcpPeer>(0, "zero", std::move(accepts)));
  Bytes received(5);
  const auto receiver = make_tcp_receiver(one, one.peer(0), kUp, received);
  receiver->start();
  EXPECT_FALSE(receiver->done());  // but it is announced

  for (Channel& channel : connects) {
    std::byte welcome{};
    ASSERT_TRUE(read_all(channel, {&welcome, 1}, until));
  }
  TcpMesh zero;
  zero.add(std::make_unique<TcpPeer>(1, "one", std::move(connects)));
  const Bytes sent = to_bytes("hello");
  const auto sender = make_tcp_sender(zero, zero.peer(1), kUp, sent);
  sender->start(sent.size());
  EXPECT_TRUE(sender->wait_for(kPatience));
  EXPECT_TRUE(receiver->wait_for(kPatience));
  EXPECT_EQ(received, sent);
}

}  // namespace
}  // namespace gradwire
