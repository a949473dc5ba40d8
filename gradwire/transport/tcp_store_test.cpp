#include "gradwire/transport/tcp_store.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "gradwire/core/check.h"
#include "gradwire/transport/tcp_connect.h"
#include "gradwire/transport/tcp_store_server.h"
#include "gradwire/transport/transport.h"
#include "gtest/gtest.h"

namespace gradwire {
namespace {

using namespace std::chrono_literals;
using Clock = StartStore::Clock;

constexpr auto kPatience = 10s;

std::vector<char> value(std::string_view text) { return {text.begin(), text.end()}; }

TcpStore client_of(const TcpStoreServer& server) {
  return TcpStore("127.0.0.1", server.port(), kPatience);
}

// Whether the server closes the connection after these bytes.
bool is_dropped_after(const TcpStoreServer& server, std::string_view bytes) {
  const Descriptor socket = connect_within("127.0.0.1", server.port(), kPatience);
  send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  char answer[64];
  for (;;) {
    if (!wait_for_socket(socket.get(), POLLIN, Clock::now() + kPatience)) return false;
    if (recv(socket.get(), answer, sizeof(answer), 0) <= 0) return true;
  }
}

std::string header(std::uint32_t what, std::uint32_t key_bytes, std::uint32_t value_bytes) {
  std::array<std::byte, StoreRequestHeader::kBytes> bytes{};
  StoreRequestHeader{static_cast<StoreRequest>(what), key_bytes, value_bytes, 0}.write(bytes);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

const std::string kGreeting =
    std::string(kStoreMagic.begin(), kStoreMagic.end()) + std::string(8, '\0');

TEST(TcpStore, ThreadsShareKeys) {
  const TcpStoreServer server(0);
  TcpStore one = client_of(server);
  TcpStore two = client_of(server);
  EXPECT_TRUE(one.add("key", value("hello")));
  EXPECT_EQ(two.get("key"), value("hello"));
  EXPECT_TRUE(two.add("empty", {}));
  EXPECT_EQ(one.get("empty"), std::vector<char>());
}

TEST(TcpStore, ThreadsWaitForAKey) {
  const TcpStoreServer server(0);
  std::vector<std::thread> threads;
  std::atomic<int> right = 0;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      TcpStore store = client_of(server);
      if (store.get("late") == value("x")) ++right;
    });
  }
  std::this_thread::sleep_for(100ms);
  TcpStore store = client_of(server);
  store.set("late", value("x"));
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 8);
}

TEST(TcpStore, ThreadWaitsNoLongerThanItSays) {
  const TcpStoreServer server(0);
  TcpStore store = client_of(server);
  const auto start = Clock::now();
  EXPECT_EQ(store.get_until("never", start + 100ms), std::nullopt);
  EXPECT_GE(Clock::now() - start, 100ms);
  EXPECT_LT(Clock::now() - start, 1s);
  EXPECT_EQ(store.get_until("never", {}), std::nullopt);
  EXPECT_TRUE(store.add("key", value("still usable")));
  EXPECT_EQ(store.get("key"), value("still usable"));
}

TEST(TcpStore, ThreadThatComesSecondDoesNotReplaceAKey) {
  const TcpStoreServer server(0);
  TcpStore store = client_of(server);
  EXPECT_TRUE(store.add("key", value("first")));
  EXPECT_FALSE(store.add("key", value("second")));
  EXPECT_EQ(store.get("key"), value("first"));
  EXPECT_THROW(store.set("key", value("third")), StartError);
}

TEST(TcpStore, ThreadMovesTheBiggestKeyAndValue) {
  const TcpStoreServer server(0);
  TcpStore store = client_of(server);
  const std::string key(kStoreKeyBytesMax, 'k');
  const std::vector<char> big(kStoreValueBytesMax, 'v');
  EXPECT_TRUE(store.add(key, big));
  EXPECT_EQ(store.get(key), big);
}

TEST(TcpStore, ThreadConnectsBeforeTheServerIsThere) {
  const std::uint16_t port = TcpStoreServer(0).port();
  std::thread thread([&] { TcpStore("127.0.0.1", port, kPatience).set("key", value("x")); });
  std::this_thread::sleep_for(150ms);
  const TcpStoreServer server(port);
  thread.join();
  EXPECT_EQ(client_of(server).get("key"), value("x"));
}

TEST(TcpStore, ThreadReachesItByIPv4AndIPv6Names) {
  const TcpStoreServer server(0);
  TcpStore("localhost", server.port(), kPatience).set("name", value("x"));
  const Descriptor probe(socket(AF_INET6, SOCK_DGRAM, 0));
  sockaddr_in6 loopback{};
  loopback.sin6_family = AF_INET6;
  loopback.sin6_addr = in6addr_loopback;
  loopback.sin6_port = htons(server.port());
  if (!probe || connect(probe.get(), reinterpret_cast<sockaddr*>(&loopback), sizeof(loopback))) {
    GTEST_SKIP() << "no IPv6 on this host";
  }
  EXPECT_EQ(TcpStore("::1", server.port(), kPatience).get("name"), value("x"));
}

TEST(TcpStore, ThreadThatWaitsLearnsThatTheServerIsGone) {
  auto server = std::make_unique<TcpStoreServer>(0);
  TcpStore store = client_of(*server);
  std::thread thread([&] {
    std::this_thread::sleep_for(100ms);
    server.reset();
  });
  const auto start = Clock::now();
  EXPECT_THROW(store.get("never"), StartError);
  EXPECT_LT(Clock::now() - start, 2s);
  thread.join();
}

TEST(TcpStore, ThreadOfTheServerDropsGarbageWithoutHarm) {
  const TcpStoreServer server(0);
  TcpStore store = client_of(server);
  EXPECT_TRUE(is_dropped_after(server, "GET / HTTP/1.1\r\n\r\n"));
  EXPECT_TRUE(is_dropped_after(server, "GWSTORE1"));
  EXPECT_TRUE(is_dropped_after(server, kGreeting + header(9, 1, 1) + "kv"));
  EXPECT_TRUE(is_dropped_after(server, kGreeting + header(1, 257, 1)));
  EXPECT_TRUE(is_dropped_after(server, kGreeting + header(1, 1, (1 << 20) + 1)));
  EXPECT_TRUE(is_dropped_after(server, kGreeting + header(2, 1, 1) + "kv"));
  EXPECT_TRUE(is_dropped_after(server, kGreeting + std::string(2 << 20, '\xff')));
  EXPECT_TRUE(store.add("key", value("fine")));
  EXPECT_EQ(store.get("key"), value("fine"));
}

TEST(TcpStore, ThreadOfTheServerIsNotHeldUpBySilentConnections) {
  const TcpStoreServer server(0);
  std::vector<Descriptor> silent;
  for (int i = 0; i < 50; ++i) {
    silent.push_back(connect_within("127.0.0.1", server.port(), kPatience));
  }
  const std::string half = kGreeting + header(1, 10, 10);
  for (int i = 0; i < 25; ++i) {
    send(silent[static_cast<std::size_t>(i)].get(), half.data(), half.size(), MSG_NOSIGNAL);
  }
  TcpStore store = client_of(server);
  EXPECT_TRUE(store.add("key", value("fine")));
}

TEST(TcpStore, ThreadIsToldWhenSomethingElseListens) {
  const Descriptor other(socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t bytes = sizeof(address);
  auto* end = reinterpret_cast<sockaddr*>(&address);
  GW_CHECK(bind(other.get(), end, bytes) == 0 && listen(other.get(), 1) == 0);
  GW_CHECK(getsockname(other.get(), end, &bytes) == 0);
  std::thread thread([&] {
    const Descriptor client(accept(other.get(), nullptr, nullptr));
    send(client.get(), "220 smtp ready\r\n", 16, MSG_NOSIGNAL);
    char ignored[64];
    while (recv(client.get(), ignored, sizeof(ignored), 0) > 0) {
    }
  });
  try {
    TcpStore("127.0.0.1", ntohs(address.sin_port), kPatience);
    ADD_FAILURE() << "no StartError";
  } catch (const StartError& error) {
    EXPECT_NE(std::string(error.what()).find("is not this version of gradwire"), std::string::npos)
        << error.what();
  }
  thread.join();
}

TEST(TcpStore, ThreadOfTheServerEndsAtOnce) {
  const auto start = Clock::now();
  {
    const TcpStoreServer server(0);
    const TcpStore store = client_of(server);
  }
  EXPECT_LT(Clock::now() - start, 1s);
}

}  // namespace
}  // namespace gradwire
