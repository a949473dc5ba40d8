// Strangers connect to the rendezvous and to a rank's own port. The run starts and goes on, each
// stranger is refused within seconds and counted, and the descriptors that they cost are bounded.
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "gradwire/transport/tcp_connect.h"
#include "gradwire/transport/tcp_listener.h"
#include "gradwire/transport/tcp_store.h"
#include "gradwire/transport/tcp_store_server.h"
#include "gradwire/transport/tcp_test_support.h"
#include "gradwire/transport/tls_test_support.h"
#include "gtest/gtest.h"

namespace gradwire {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kRunKey = 0x1234'5678'9abc'def0;
constexpr GroupKey kGroupKey = {std::byte{1}, std::byte{2}, std::byte{3}};

template <class Bytes>
std::string text_in(const Bytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string request(StoreRequest what, std::string_view key, std::uint32_t value_bytes) {
  std::array<std::byte, StoreRequestHeader::kBytes> bytes{};
  StoreRequestHeader{what, static_cast<std::uint32_t>(key.size()), value_bytes, 0}.write(bytes);
  return text_in(bytes) + std::string(key);
}

struct Stranger {
  const char* name;
  std::string bytes;
};

// What strangers say to either kind of port.
std::vector<Stranger> strangers() {
  const GroupKey other_key = {std::byte{9}};
  const auto hello = [&](const GroupKey& key) {
    return text_in(TcpHello{.key = key, .rank = 1, .peer = 0, .link = 0, .links = 2}.write());
  };
  return {
      {"garbage", std::string(5000, '\xa5')},
      {"HTTP", "GET / HTTP/1.1\r\nHost: example\r\n\r\n"},
      {"huge lengths",
       text_in(StoreGreeting::write(0)) + request(StoreRequest::add, "key", 0xffffffff)},
      {"nothing", ""},
      {"half a greeting", "GWSTORE2"},
      {"half a hello", hello(kGroupKey).substr(0, 20)},
      {"a claim to be rank 1 at the rendezvous",
       text_in(StoreGreeting::write(0)) + request(StoreRequest::add, "hello/1", 5) + "I am!"},
      {"a claim to be rank 1", hello(GroupKey{})},
      {"a greeting of another run", text_in(StoreGreeting::write(kRunKey + 1))},
      {"a hello of another run", hello(other_key)},
  };
}

Descriptor say(std::uint16_t port, std::string_view bytes) {
  Descriptor socket = connect_within("127.0.0.1", port, kPatience);
  send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  return socket;
}

bool is_dropped(int socket, Clock::time_point until) {
  char ignored[256];
  while (wait_for_socket(socket, POLLIN, until)) {
    if (recv(socket, ignored, sizeof(ignored), 0) <= 0) return true;
  }
  return false;
}

std::size_t open_descriptors() {
  const std::filesystem::directory_iterator entries("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(entries), end(entries)));
}

TEST(TcpStrangers, AreRefusedAtTheRendezvousAndCounted) {
  const TcpStoreServer server(0, nullptr, kRunKey);
  TcpStore before("127.0.0.1", server.port(), kPatience, nullptr, kRunKey);
  std::vector<Descriptor> sockets;
  for (const Stranger& stranger : strangers())
    sockets.push_back(say(server.port(), stranger.bytes));
  TcpStore store("127.0.0.1", server.port(), kPatience, nullptr, kRunKey);
  EXPECT_TRUE(store.add("hello/1", {'o', 'k'}));
  for (std::size_t i = 0; i < sockets.size(); ++i) {
    EXPECT_TRUE(is_dropped(sockets[i].get(), Clock::now() + kPatience)) << strangers()[i].name;
  }
  EXPECT_EQ(server.refusals().count, sockets.size());
  EXPECT_EQ(before.get("hello/1"), (std::vector<char>{'o', 'k'}));
}

TEST(TcpStrangers, AreRefusedAtARanksPortAndCounted) {
  TcpListener listener("127.0.0.1");
  std::vector<Descriptor> sockets;
  for (const Stranger& stranger : strangers()) {
    sockets.push_back(say(listener.port(), stranger.bytes));
  }
  const TcpHello hello{.key = kGroupKey, .rank = 1, .peer = 0, .link = 0, .links = 2};
  const Descriptor rank = say(listener.port(), text_in(hello.write()));
  const auto guests = listener.accept(kGroupKey, Clock::now() + kPatience);
  ASSERT_EQ(guests.size(), 1u);
  EXPECT_EQ(guests[0].hello.rank, 1u);

  std::size_t dropped = 0;
  const auto end = Clock::now() + kPatience;
  while (listener.refusals().count < sockets.size() && Clock::now() < end) {
    EXPECT_TRUE(listener.accept(kGroupKey, Clock::now() + 100ms).empty());
  }
  for (const Descriptor& socket : sockets) dropped += is_dropped(socket.get(), end) ? 1 : 0;
  EXPECT_EQ(dropped, sockets.size());
  EXPECT_EQ(listener.refusals().count, sockets.size());
}

// Every kind at both kinds of port, with and without a secret. Prints the table of
// docs/security.md.
TEST(TcpStrangers, EveryKindIsRefusedWithAndWithoutASecret) {
  constexpr std::size_t kTries = 10;
  std::vector<Stranger> kinds = strangers();
  kinds.push_back({"garbage that looks like TLS", "\x16\x03\x01\x02\x01" + std::string(600, 'x')});
  std::printf("%-40s tried, refused: without a secret, with one\n", "");
  for (const Stranger& kind : kinds) {
    std::printf("%-40s", kind.name);
    for (const auto& security : {Security(), security_of(1)}) {
      TcpStoreServer server(0, security, kRunKey);
      TcpListener listener("127.0.0.1", security);
      std::vector<Descriptor> sockets;
      for (std::size_t i = 0; i < kTries; ++i) {
        sockets.push_back(say(server.port(), kind.bytes));
        sockets.push_back(say(listener.port(), kind.bytes));
      }
      // All have been taken in when a rank is.
      TcpStore store("127.0.0.1", server.port(), kPatience, security, kRunKey);
      EXPECT_TRUE(store.add("key", {'1'}));
      EXPECT_TRUE(listener.accept(kGroupKey, Clock::now() + 200ms).empty());
      server.close();
      listener.close();
      const std::size_t refused = server.refusals().count + listener.refusals().count;
      EXPECT_EQ(refused, sockets.size()) << kind.name;
      for (const Descriptor& socket : sockets) {
        EXPECT_TRUE(is_dropped(socket.get(), Clock::now() + kPatience)) << kind.name;
      }
      std::printf("  %4zu %4zu", sockets.size(), refused);
    }
    std::printf("\n");
  }
}

TEST(TcpStrangers, ThatSayNothingDoNotKeepARankOut) {
  TcpListener listener("127.0.0.1");
  const std::size_t before = open_descriptors();
  constexpr std::size_t kStrangers = 400;  // more than a listener lets wait
  std::vector<Descriptor> silent;
  std::size_t most = 0;
  for (std::size_t i = 0; i < kStrangers; ++i) {
    silent.push_back(say(listener.port(), ""));
    if (i % 50 == 0) listener.accept(kGroupKey, Clock::now() + 1ms);
    most = std::max(most, open_descriptors() - silent.size());
  }
  const TcpHello hello{.key = kGroupKey, .rank = 3, .peer = 0, .link = 1, .links = 2};
  const Descriptor rank = say(listener.port(), text_in(hello.write()));
  const auto guests = listener.accept(kGroupKey, Clock::now() + kPatience);
  ASSERT_EQ(guests.size(), 1u);
  EXPECT_EQ(guests[0].hello.rank, 3u);
  EXPECT_LE(most, before + 260);
}

// Strangers come as soon as rank 0 listens, and do not stop until all ranks have met. The other
// ranks come behind ten thousand of them.
TEST(TcpStrangers, TenThousandConnectionsDoNotKeepRanksFromMeeting) {
  const std::uint16_t port = TcpStoreServer(0).port();
  constexpr int kConnections = 10'000;
  std::atomic<int> connected = 0;
  std::atomic<bool> have_met = false;
  std::atomic<std::size_t> most = 0;
  const auto all = strangers();
  std::thread flood([&] {
    for (std::size_t i = 0; !have_met; ++i) {
      std::string reason;
      const Descriptor socket = try_connect("127.0.0.1", port, Clock::now() + 1s, reason);
      if (!socket) continue;
      const std::string& bytes = all[i % all.size()].bytes;
      send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      ++connected;
      if (i % 100 == 0) most = std::max(most.load(), open_descriptors());
    }
  });
  constexpr std::size_t kRanks = 3;
  run_tcp_ranks(
      kRanks,
      [&](std::size_t rank) {
        const auto end = Clock::now() + 60s;
        while (rank > 0 && connected < kConnections && Clock::now() < end) {
          std::this_thread::sleep_for(1ms);
        }
        return MeetingOptions{.rank = rank,
                              .size = kRanks,
                              .master_host = "127.0.0.1",
                              .master_port = port,
                              .run_key = kRunKey,
                              .start_time_max = 120s};
      },
      [&](Transport& transport) {
        const std::size_t next = (transport.rank() + 1) % kRanks;
        const std::size_t previous = (transport.rank() + kRanks - 1) % kRanks;
        const Bytes out = to_bytes("hello");
        Bytes in(5);
        const auto sender = transport.sender(next, kUp, out);
        const auto receiver = transport.receiver(previous, kUp, in);
        receiver->start();
        sender->start(out.size());
        expect_done(*receiver);
        expect_done(*sender);
        EXPECT_EQ(text_of(in, 5), "hello");
        if (transport.rank() == 0) {
          EXPECT_GE(transport.refused_connections(), std::size_t{kConnections});
        }
      });
  have_met = true;
  flood.join();
  EXPECT_LT(most, 700u);
}

// The strangers' words are not printed as they came.
TEST(TcpStrangers, GarbageInAHelloIsNotRepeated) {
  for (const std::string& address :
       {std::string(5000, 'A'), std::string("\x1b[2J"), std::string()}) {
    const std::uint16_t port = TcpStoreServer(0).port();
    std::thread liar([&] {
      TcpStore store("127.0.0.1", port, kPatience);
      const std::string text = "gradwire 2\n2\n1\n" + address + "\nhost\n";
      store.add("hello/1", {text.begin(), text.end()});
      EXPECT_THROW(store.get("bye/0"), StartError);  // rank 0 goes
    });
    std::string message;
    try {
      make_tcp_transport({.meeting = {.rank = 0,
                                      .size = 2,
                                      .master_host = "127.0.0.1",
                                      .master_port = port,
                                      .start_time_max = kPatience}});
    } catch (const StartError& error) {
      message = error.what();
    }
    EXPECT_EQ(message, "rank 1 is not of this version of gradwire");
    liar.join();
  }
}

}  // namespace
}  // namespace gradwire
