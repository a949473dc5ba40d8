// Peers that end before they should.
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "gradwire/transport/tcp_test_support.h"
#include "gtest/gtest.h"

namespace gradwire {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

template <class Call>
void expect_peer_error(std::size_t peer, Call call) {
  try {
    call();
    ADD_FAILURE() << "no PeerError";
  } catch (const PeerError& error) {
    EXPECT_EQ(error.rank(), peer);
    const std::string message = error.what();
    EXPECT_TRUE(
        message.starts_with("the connection to rank " + std::to_string(peer) + " at 127.0.0.1:"))
        << message;
    EXPECT_EQ(message.find(".cc"), std::string::npos) << message;
  }
}

TEST(TcpGonePeer, AbandoningEndsTheOthersWaitingAtOnce) {
  const auto leave = [](Transport& transport) {
    receive_text(transport, 1, kDown, 1);
    transport.abandon();
  };
  const auto wait = [](Transport& transport) {
    Bytes memory(8);
    const auto receiver = transport.receiver(0, kUp, memory);
    const auto sender = transport.sender(0, kUp, memory);
    receiver->start();
    send_text(transport, 0, kDown, "x");
    const auto start = Clock::now();
    expect_peer_error(0, [&] { receiver->wait_for(kPatience); });
    EXPECT_LT(Clock::now() - start, 1s);
    expect_peer_error(0, [&] { receiver->done(); });
    expect_peer_error(0, [&] { receiver->start(); });
    EXPECT_TRUE(sender->done());  // nothing is under way
    for (int i = 0; i < 3; ++i) {
      expect_peer_error(0, [&] { sender->start(8); });
      expect_peer_error(0, [&] { sender->done(); });
    }
    std::vector<float> values(100);
    expect_peer_error(0, [&] { transport.allreduce(values); });
  };
  run_two_tcp_ranks(leave, wait);
}

TEST(TcpGonePeer, AfterAbandoningTransfersFailAndNeverHang) {
  run_two_tcp_ranks(
      [](Transport& transport) {
        Bytes memory(8);
        const auto receiver = transport.receiver(1, kUp, memory);
        const auto sender = transport.sender(1, kUp, memory);
        const auto beat = transport.receiver(1, kPresence, memory);
        receiver->start();
        beat->start();
        sender->start(8);
        transport.abandon();
        transport.abandon();
        expect_peer_error(1, [&] { receiver->done(); });
        expect_peer_error(1, [&] { receiver->wait_for(kPatience); });
        expect_peer_error(1, [&] { sender->done(); });
        expect_peer_error(1, [&] { sender->start(8); });
        expect_peer_error(1, [&] { beat->done(); });
        std::vector<float> values(100);
        expect_peer_error(1, [&] { transport.allreduce(values); });
        EXPECT_FALSE(transport.address(1).empty());
      },
      [](Transport&) {});
}

// Both ends of a message that stops in the midst of it.
TEST(TcpGonePeer, HalfAMessageFailsAtBothEnds) {
  constexpr std::size_t kBytes = 200'000'000;
  const Bytes memory(kBytes);
  run_two_tcp_ranks(
      [&](Transport& transport) {
        const auto sender = transport.sender(1, kUp, memory);
        sender->start(kBytes);
        expect_peer_error(1, [&] { sender->wait_for(kPatience); });
      },
      [&](Transport& transport) {
        Bytes incoming(kBytes);
        const auto receiver = transport.receiver(0, kUp, incoming);
        receiver->start();
        EXPECT_FALSE(receiver->wait_for(10ms));
        transport.abandon();
        expect_peer_error(0, [&] { receiver->wait_for(kPatience); });
      });
}

// A message longer than its receiver is the sender's failure. Its presence can still be heard.
TEST(TcpGonePeer, AMessageLongerThanItsReceiverIsItsSendersFailure) {
  run_two_tcp_ranks(
      [](Transport& transport) {
        const Bytes memory(9);
        const auto sender = transport.sender(1, kUp, memory);
        sender->start(9);
        EXPECT_EQ(receive_text(transport, 1, kPresence, 7), "too big");
        expect_peer_error(1, [&] {
          while (true) {
            sender->start(9);
            sender->wait_for(kPatience);
          }
        });
      },
      [](Transport& transport) {
        Bytes memory(64);
        const auto receiver = transport.receiver(0, kUp, std::span(memory).first(8));
        receiver->start();
        try {
          receiver->wait_for(kPatience);
          ADD_FAILURE() << "no PeerError";
        } catch (const PeerError& error) {
          EXPECT_EQ(error.rank(), 0u);
          EXPECT_NE(
              std::string(error.what()).find("it sent a message longer than the memory for it"),
              std::string::npos)
              << error.what();
        }
        EXPECT_EQ(memory, Bytes(64));
        send_text(transport, 0, kPresence, "too big");
      });
}

TEST(TcpGonePeer, LastWordsArriveAndThenTheEndIsSeen) {
  const RendezvousDirectory rendezvous;
  std::thread leaver([&] {
    const auto transport = make_tcp_transport({.meeting = rendezvous.options(0, 2)});
    send_text(*transport, 1, kPresence, "bye");
  });
  const auto transport = make_tcp_transport({.meeting = rendezvous.options(1, 2)});
  EXPECT_EQ(receive_text(*transport, 0, kPresence, 3), "bye");
  leaver.join();
  Bytes memory(3);
  const auto receiver = transport->receiver(0, kPresence, memory);
  expect_peer_error(0, [&] {
    receiver->start();
    receiver->wait_for(kPatience);
  });
}

TEST(TcpGonePeer, EndingATransportDoesNotWaitForPeers) {
  const RendezvousDirectory rendezvous;
  std::unique_ptr<Transport> other;
  std::thread thread([&] { other = make_tcp_transport({.meeting = rendezvous.options(1, 2)}); });
  auto transport = make_tcp_transport({.meeting = rendezvous.options(0, 2)});
  thread.join();
  Bytes memory(8);
  auto receiver = transport->receiver(1, kUp, memory);
  receiver->start();
  const auto start = Clock::now();
  receiver.reset();
  transport.reset();
  other.reset();
  EXPECT_LT(Clock::now() - start, 1s);
}

}  // namespace
}  // namespace gradwire
