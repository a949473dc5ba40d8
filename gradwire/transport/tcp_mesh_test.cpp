// Peers of a mesh come and go while others keep talking.
#include "gradwire/transport/tcp_mesh.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "gradwire/core/check.h"
#include "gradwire/transport/tcp_test_support.h"
#include "gradwire/transport/tcp_transfer.h"
#include "gtest/gtest.h"

namespace gradwire {
namespace {

constexpr std::size_t kLinks = 2;

// Two ends of a connection between ranks, without any port.
struct Ends {
  std::unique_ptr<TcpPeer> first;  // what the one knows of the other
  std::unique_ptr<TcpPeer> second;
};

Ends connect(std::size_t first_rank, std::size_t second_rank) {
  std::vector<Channel> first, second;
  for (std::size_t link = 0; link < kLinks; ++link) {
    int pair[2];
    GW_CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) == 0);
    first.emplace_back(Descriptor(pair[0]), Channel::Role::connects);
    second.emplace_back(Descriptor(pair[1]), Channel::Role::accepts);
  }
  return {std::make_unique<TcpPeer>(second_rank, "second", std::move(first)),
          std::make_unique<TcpPeer>(first_rank, "first", std::move(second))};
}

// Moves both meshes on until the transfer is done.
void expect_done_between(Transfer& transfer, TcpMesh& other) {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (!transfer.wait_for(std::chrono::microseconds(100))) {
    other.poll({});
    ASSERT_LT(std::chrono::steady_clock::now(), end);
  }
}

void expect_message(TcpMesh& from, std::size_t from_rank, TcpMesh& to, std::size_t to_rank,
                    std::string_view text) {
  const Bytes out = to_bytes(text);
  Bytes in(text.size());
  const auto sender = make_tcp_sender(from, from.peer(to_rank), kUp, out);
  const auto receiver = make_tcp_receiver(to, to.peer(from_rank), kUp, in);
  receiver->start();
  sender->start(out.size());
  expect_done_between(*receiver, from);
  expect_done_between(*sender, to);
  EXPECT_EQ(text_of(in, in.size()), text);
}

TEST(TcpMesh, PeersComeAndGoWhileOthersTalk) {
  TcpMesh zero, one, two;
  auto [of_zero, of_one] = connect(0, 1);
  zero.add(std::move(of_zero));
  one.add(std::move(of_one));

  // Half of a long message is there when another peer comes, and all of it after that one has left.
  const Bytes out(5'000'000, std::byte{7});
  Bytes in(out.size());
  const auto receiver = make_tcp_receiver(zero, zero.peer(1), kDown, in);
  const auto sender = make_tcp_sender(one, one.peer(0), kDown, out);
  receiver->start();
  sender->start(out.size());
  one.poll({});
  zero.poll({});
  EXPECT_FALSE(sender->done());

  for (int round = 0; round < 3; ++round) {
    auto [zero_two, two_zero] = connect(0, 2);
    zero.add(std::move(zero_two));
    two.add(std::move(two_zero));
    expect_message(zero, 0, two, 2, "welcome");
    expect_message(two, 2, zero, 0, "thank you");
    zero.remove(2);
    two.remove(0);
  }
  expect_done_between(*receiver, one);
  EXPECT_EQ(in, out);
  expect_message(zero, 0, one, 1, "still here");
}

TEST(TcpMesh, APeerThatIsGoneHarmsNoOther) {
  TcpMesh zero, one;
  auto [zero_one, one_zero] = connect(0, 1);
  auto [zero_two, two_zero] = connect(0, 2);
  zero.add(std::move(zero_one));
  one.add(std::move(one_zero));
  zero.add(std::move(zero_two));
  Bytes in(8);
  auto receiver = make_tcp_receiver(zero, zero.peer(2), kUp, in);
  receiver->start();
  two_zero.reset();
  EXPECT_THROW(receiver->wait_for(kPatience), PeerError);
  expect_message(zero, 0, one, 1, "one");
  receiver.reset();
  zero.remove(2);
  expect_message(one, 1, zero, 0, "two");
}

}  // namespace
}  // namespace gradwire
