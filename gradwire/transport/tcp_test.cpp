#include "gradwire/transport/tcp.h"

#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "gradwire/transport/tcp_test_support.h"
#include "gtest/gtest.h"

namespace gradwire {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

TEST(TcpTransport, MessagesGoBothWaysAtOnce) {
  run_tcp_ranks(2, [](Transport& transport) {
    const std::size_t peer = 1 - transport.rank();
    Bytes incoming(5);
    const Bytes outgoing = to_bytes(transport.rank() == 0 ? "zero!" : "one!!");
    const auto receiver = transport.receiver(peer, kUp, incoming);
    const auto sender = transport.sender(peer, kUp, outgoing);
    EXPECT_TRUE(receiver->done());  // nothing is under way
    for (int round = 0; round < 100; ++round) {
      std::fill(incoming.begin(), incoming.end(), std::byte{0});
      receiver->start();
      sender->start(5);
      expect_done(*receiver);
      expect_done(*sender);
      EXPECT_EQ(text_of(incoming, 5), transport.rank() == 0 ? "one!!" : "zero!");
      EXPECT_TRUE(receiver->done());  // and stays so
    }
  });
}

TEST(TcpTransport, OneLaneKeepsTheOrder) {
  constexpr std::uint32_t kMessages = 1000;
  const auto send = [](Transport& transport) {
    for (std::uint32_t i = 0; i < kMessages; ++i) {
      const Bytes memory(4 + i % 7, static_cast<std::byte>(i));
      const auto sender = transport.sender(1, kUp, memory);
      sender->start(memory.size());
      expect_done(*sender);
    }
  };
  const auto receive = [](Transport& transport) {
    for (std::uint32_t i = 0; i < kMessages; ++i) {
      Bytes memory(16);
      const auto receiver = transport.receiver(0, kUp, memory);
      receiver->start();
      expect_done(*receiver);
      ASSERT_EQ(memory[3], static_cast<std::byte>(i));
    }
  };
  run_two_tcp_ranks(send, receive);
}

TEST(TcpTransport, ReceiversAreServedInTheOrderOfTheirStart) {
  const auto send = [](Transport& transport) {
    for (const char* text : {"a", "b", "c"}) send_text(transport, 1, kUp, text);
  };
  const auto receive = [](Transport& transport) {
    std::vector<Bytes> memories(3, Bytes(1));
    std::vector<std::unique_ptr<Receiver>> receivers;
    for (Bytes& memory : memories) {
      receivers.push_back(transport.receiver(0, kUp, memory));
      receivers.back()->start();
    }
    for (auto& receiver : receivers) expect_done(*receiver);
    EXPECT_EQ(text_of(memories[0], 1) + text_of(memories[1], 1) + text_of(memories[2], 1), "abc");
  };
  run_two_tcp_ranks(send, receive);
}

// The first message sent has no taker until the others have gone through.
TEST(TcpTransport, LanesAndGroupsDoNotWaitForOneAnother) {
  const Tag other_group{Lane::up, 7};
  const auto send = [&](Transport& transport) {
    const Bytes memory = to_bytes("up");
    const auto first = transport.sender(1, kUp, memory);
    first->start(2);
    send_text(transport, 1, kDown, "down");
    send_text(transport, 1, other_group, "group");
    send_text(transport, 1, kPresence, "here");
    EXPECT_FALSE(first->done());
    send_text(transport, 1, kDown, "go");
    expect_done(*first);
  };
  const auto receive = [&](Transport& transport) {
    EXPECT_EQ(receive_text(transport, 0, kDown, 4), "down");
    EXPECT_EQ(receive_text(transport, 0, other_group, 5), "group");
    EXPECT_EQ(receive_text(transport, 0, kPresence, 4), "here");
    EXPECT_EQ(receive_text(transport, 0, kDown, 2), "go");
    EXPECT_EQ(receive_text(transport, 0, kUp, 2), "up");
  };
  run_two_tcp_ranks(send, receive);
}

TEST(TcpTransport, AMessageMayBeShorterThanItsReceiver) {
  const auto send = [](Transport& transport) { send_text(transport, 1, kUp, "abc"); };
  const auto receive = [](Transport& transport) {
    EXPECT_EQ(receive_text(transport, 0, kUp, 8), std::string("abc\0\0\0\0\0", 8));
  };
  run_two_tcp_ranks(send, receive);
}

TEST(TcpTransport, AMessageMayBeEmpty) {
  const auto send = [](Transport& transport) {
    send_text(transport, 1, kUp, "");
    send_text(transport, 1, kUp, "x");
    send_text(transport, 1, kDown, "");
  };
  const auto receive = [](Transport& transport) {
    EXPECT_EQ(receive_text(transport, 0, kUp, 1), std::string(1, '\0'));
    EXPECT_EQ(receive_text(transport, 0, kUp, 1), "x");
    EXPECT_EQ(receive_text(transport, 0, kDown, 0), "");
  };
  run_two_tcp_ranks(send, receive);
}

TEST(TcpTransport, BigMessagesArriveWhole) {
  constexpr std::size_t kWords = 5'000'000;
  run_tcp_ranks(2, [](Transport& transport) {
    const std::size_t peer = 1 - transport.rank();
    std::vector<std::uint32_t> outgoing(kWords);
    std::vector<std::uint32_t> incoming(kWords);
    std::iota(outgoing.begin(), outgoing.end(), static_cast<std::uint32_t>(transport.rank()));
    const auto receiver =
        transport.receiver(peer, kUp, std::as_writable_bytes(std::span(incoming)));
    const auto sender = transport.sender(peer, kUp, std::as_bytes(std::span(outgoing)));
    receiver->start();
    sender->start(kWords * sizeof(std::uint32_t));
    expect_done(*receiver);
    expect_done(*sender);
    std::iota(outgoing.begin(), outgoing.end(), static_cast<std::uint32_t>(peer));
    EXPECT_EQ(incoming, outgoing);
  });
}

TEST(TcpTransport, AMessageWaitsForItsReceiver) {
  const auto send = [](Transport& transport) { send_text(transport, 1, kUp, "early"); };
  const auto receive = [](Transport& transport) {
    std::this_thread::sleep_for(300ms);
    EXPECT_EQ(receive_text(transport, 0, kUp, 5), "early");
  };
  run_two_tcp_ranks(send, receive);
}

TEST(TcpTransport, WaitingEndsInTimeAndDoesNoHarm) {
  const auto send = [](Transport& transport) {
    std::this_thread::sleep_for(300ms);
    send_text(transport, 1, kUp, "late");
  };
  const auto receive = [](Transport& transport) {
    Bytes memory(4);
    const auto receiver = transport.receiver(0, kUp, memory);
    receiver->start();
    const auto start = Clock::now();
    EXPECT_FALSE(receiver->wait_for(50ms));
    EXPECT_GE(Clock::now() - start, 50ms);
    EXPECT_LT(Clock::now() - start, 200ms);
    expect_done(*receiver);
    EXPECT_EQ(text_of(memory, 4), "late");
  };
  run_two_tcp_ranks(send, receive);
}

TEST(TcpTransport, AllreduceSumsOverAllRanks) {
  run_tcp_ranks(4, [](Transport& transport) {
    for (std::size_t count : {0u, 1u, 3u, 1000u, 300'001u}) {
      std::vector<float> values(count);
      for (std::size_t i = 0; i < count; ++i) {
        values[i] = static_cast<float>(transport.rank() + i % 100);
      }
      transport.allreduce(values);
      for (std::size_t i = 0; i < count; ++i) {
        ASSERT_EQ(values[i], static_cast<float>(6 + 4 * (i % 100)));
      }
    }
  });
}

}  // namespace
}  // namespace gradwire
