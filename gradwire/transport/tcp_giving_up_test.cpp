// Transfers that are destroyed while they are under way.
#include <thread>

#include "gradwire/transport/tcp_test_support.h"
#include "gtest/gtest.h"

namespace gradwire {
namespace {

using namespace std::chrono_literals;

TEST(TcpGivingUp, TheNextReceiverTakesTheMessage) {
  const auto send = [](Transport& transport) {
    receive_text(transport, 1, kDown, 1);  // the receiver is gone
    send_text(transport, 1, kUp, "first");
    send_text(transport, 1, kUp, "second");
  };
  const auto receive = [](Transport& transport) {
    {
      Bytes memory(8);
      const auto receiver = transport.receiver(0, kUp, memory);
      receiver->start();
    }
    send_text(transport, 0, kDown, "x");
    EXPECT_EQ(receive_text(transport, 0, kUp, 5), "first");
    EXPECT_EQ(receive_text(transport, 0, kUp, 6), "second");
  };
  run_two_tcp_ranks(send, receive);
}

TEST(TcpGivingUp, AMessageThatComesMeanwhileIsKept) {
  const auto send = [](Transport& transport) {
    receive_text(transport, 1, kDown, 1);
    send_text(transport, 1, kUp, "kept");  // goes at once: it was asked for
    send_text(transport, 1, kDown, "x");
  };
  const auto receive = [](Transport& transport) {
    {
      Bytes memory(8);
      const auto receiver = transport.receiver(0, kUp, memory);
      receiver->start();
    }
    send_text(transport, 0, kDown, "x");
    receive_text(transport, 0, kDown, 1);
    EXPECT_EQ(receive_text(transport, 0, kUp, 4), "kept");
  };
  run_two_tcp_ranks(send, receive);
}

TEST(TcpGivingUp, WhatWasSentIsSent) {
  constexpr std::size_t kBytes = 20'000'000;
  const auto send = [](Transport& transport) {
    for (int round = 0; round < 5; ++round) {
      const Bytes memory(kBytes, std::byte{42});
      const auto sender = transport.sender(1, kUp, memory);
      sender->start(kBytes);
      std::this_thread::sleep_for(round * 1ms);  // given up at different points
    }
    send_text(transport, 1, kUp, "end");
  };
  const auto receive = [](Transport& transport) {
    for (int round = 0; round < 5; ++round) {
      Bytes memory(kBytes);
      const auto receiver = transport.receiver(0, kUp, memory);
      receiver->start();
      expect_done(*receiver);
      EXPECT_TRUE(memory == Bytes(kBytes, std::byte{42}));
    }
    EXPECT_EQ(receive_text(transport, 0, kUp, 3), "end");
  };
  run_two_tcp_ranks(send, receive);
}

// Gives up a receiver at different points of a big message, in the midst of it too.
TEST(TcpGivingUp, HalfAMessageIsTakenOver) {
  constexpr std::size_t kBytes = 20'000'000;
  constexpr int kRounds = 12;
  const auto send = [](Transport& transport) {
    const Bytes memory(kBytes, std::byte{42});
    const auto sender = transport.sender(1, kUp, memory);
    for (int round = 0; round < kRounds; ++round) {
      sender->start(kBytes);
      expect_done(*sender);
    }
  };
  const auto receive = [](Transport& transport) {
    Bytes first(kBytes);
    Bytes second(kBytes);
    for (int round = 0; round < kRounds; ++round) {
      std::fill(first.begin(), first.end(), std::byte{0});
      std::fill(second.begin(), second.end(), std::byte{0});
      auto receiver = transport.receiver(0, kUp, first);
      receiver->start();
      const bool done = receiver->wait_for(round * 1ms);
      receiver.reset();
      if (!done) {
        std::fill(first.begin(), first.end(), std::byte{0});
        receiver = transport.receiver(0, kUp, second);
        receiver->start();
        expect_done(*receiver);
      }
      EXPECT_TRUE((done ? first : second) == Bytes(kBytes, std::byte{42}));
      EXPECT_TRUE(done || first == Bytes(kBytes));
    }
  };
  run_two_tcp_ranks(send, receive);
}

}  // namespace
}  // namespace gradwire
