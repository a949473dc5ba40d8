// Ranks that come together, or do not.
#include <netinet/in.h>
#include <sys/socket.h>

#include <string>
#include <thread>
#include <vector>

#include "gradwire/transport/tcp.h"
#include "gradwire/transport/tcp_store_server.h"
#include "gradwire/transport/tcp_test_support.h"
#include "gradwire/transport/test_support.h"
#include "gtest/gtest.h"

namespace gradwire {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

std::uint16_t free_port() { return TcpStoreServer(0).port(); }

MeetingOptions tcp_options(std::size_t rank, std::size_t size, std::uint16_t port) {
  MeetingOptions options;
  options.rank = rank;
  options.size = size;
  options.master_host = "127.0.0.1";
  options.master_port = port;
  options.start_time_max = kPatience;
  return options;
}

std::string start_failure(const MeetingOptions& options) {
  try {
    make_tcp_transport({.meeting = options});
  } catch (const StartError& error) {
    return error.what();
  }
  return "";
}

void everybody_greets_everybody(Transport& transport) {
  for (std::size_t peer = 0; peer < transport.size(); ++peer) {
    if (peer == transport.rank()) continue;
    Bytes incoming(1);
    const Bytes outgoing(1, static_cast<std::byte>(transport.rank()));
    const auto receiver = transport.receiver(peer, kUp, incoming);
    const auto sender = transport.sender(peer, kUp, outgoing);
    receiver->start();
    sender->start(1);
    expect_done(*receiver);
    expect_done(*sender);
    EXPECT_EQ(incoming[0], static_cast<std::byte>(peer));
  }
}

TEST(TcpStart, RanksMeetInADirectory) { run_tcp_ranks(4, everybody_greets_everybody); }

TEST(TcpStart, RanksMeetAtAPort) {
  const std::uint16_t port = free_port();
  run_tcp_ranks(
      4, [&](std::size_t rank) { return tcp_options(rank, 4, port); }, everybody_greets_everybody);
}

TEST(TcpStart, RanksMeetOnANamedInterface) {
  const RendezvousDirectory rendezvous;
  const auto options = [&](std::size_t rank) {
    MeetingOptions result = rendezvous.options(rank, 2);
    result.interface = "lo";
    return result;
  };
  run_tcp_ranks(2, options, everybody_greets_everybody);
}

TEST(TcpStart, RanksMeetOverIPv6) {
  const Descriptor probe(socket(AF_INET6, SOCK_STREAM, 0));
  sockaddr_in6 loopback{};
  loopback.sin6_family = AF_INET6;
  loopback.sin6_addr = in6addr_loopback;
  if (!probe || bind(probe.get(), reinterpret_cast<sockaddr*>(&loopback), sizeof(loopback))) {
    GTEST_SKIP() << "no IPv6 on this host";
  }
  const std::uint16_t port = free_port();
  const auto options = [&](std::size_t rank) {
    MeetingOptions result = tcp_options(rank, 3, port);
    result.master_host = "::1";
    return result;
  };
  run_tcp_ranks(3, options, [](Transport& transport) {
    EXPECT_TRUE(transport.address(0).starts_with("[::1]:")) << transport.address(0);
    everybody_greets_everybody(transport);
  });
}

TEST(TcpStart, SaysThatStreamsDiffer) {
  const RendezvousDirectory rendezvous;
  std::vector<std::string> failures(2);
  run_ranks(2, [&](std::size_t rank) {
    MeetingOptions options = rendezvous.options(rank, 2);
    options.start_time_max = 2s;
    try {
      make_tcp_transport({.meeting = options, .streams = 1 + rank});
    } catch (const StartError& error) {
      failures[rank] = error.what();
    }
  });
  EXPECT_EQ(failures[0], "rank 1 says that there are 2 streams, and rank 0 that there are 1");
}

TEST(TcpStart, RankZeroMayComeLast) {
  const std::uint16_t port = free_port();
  const auto options = [&](std::size_t rank) {
    if (rank == 0) std::this_thread::sleep_for(300ms);
    return tcp_options(rank, 2, port);
  };
  run_tcp_ranks(2, options, everybody_greets_everybody);
}

TEST(TcpStart, ARankMayBeAlone) {
  MeetingOptions options;
  const auto transport = make_tcp_transport({.meeting = options});
  EXPECT_EQ(transport->size(), 1u);
  std::vector<float> values = {1, 2};
  transport->allreduce(values);
  EXPECT_EQ(values, (std::vector<float>{1, 2}));
  transport->abandon();
}

TEST(TcpStart, AddressesHavePortAndHost) {
  run_tcp_ranks(2, [](Transport& transport) {
    for (std::size_t rank : {0u, 1u}) {
      EXPECT_TRUE(transport.address(rank).starts_with("127.0.0.1:")) << transport.address(rank);
      EXPECT_NE(transport.address(rank).find(" (host "), std::string::npos);
    }
    EXPECT_NE(transport.address(0), transport.address(1));
  });
}

TEST(TcpStart, NamesARankThatDoesNotComeToTheDirectory) {
  const RendezvousDirectory rendezvous;
  MeetingOptions options = rendezvous.options(0, 2);
  options.start_time_max = 300ms;
  const auto start = Clock::now();
  EXPECT_EQ(start_failure(options),
            "rank 1 has not come within 300 ms: is it started, and can it reach " +
                options.directory + "?");
  EXPECT_LT(Clock::now() - start, 2s);
}

TEST(TcpStart, NamesAllRanksThatDoNotComeToThePort) {
  const std::uint16_t port = free_port();
  std::vector<std::string> failures(2);
  std::vector<std::thread> threads;
  for (std::size_t rank : {0u, 1u}) {
    threads.emplace_back([&, rank] {
      MeetingOptions options = tcp_options(rank, 4, port);
      options.start_time_max = 500ms;
      failures[rank] = start_failure(options);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failures[0],
            "ranks 2 and 3 have not come within 500 ms: are they started, and can they reach "
            "127.0.0.1:" +
                std::to_string(port) + "?");
  EXPECT_NE(failures[1].find("2"), std::string::npos) << failures[1];
  EXPECT_NE(failures[1].find("not come within 500 ms"), std::string::npos) << failures[1];
}

TEST(TcpStart, SaysThatRankZeroIsMissing) {
  const std::uint16_t port = free_port();
  MeetingOptions options = tcp_options(1, 2, port);
  options.start_time_max = 300ms;
  EXPECT_EQ(start_failure(options),
            "rank 0 has not come within 300 ms: is it started, and can this host reach 127.0.0.1:" +
                std::to_string(port) + "? (Connection refused)");
}

TEST(TcpStart, SaysThatThePortIsTaken) {
  const TcpStoreServer other(0);
  EXPECT_EQ(start_failure(tcp_options(0, 2, other.port())),
            "port " + std::to_string(other.port()) +
                " on this host is in use: choose another MASTER_PORT");
}

TEST(TcpStart, NoticesTwoProcessesOfOneRank) {
  const std::uint16_t port = free_port();
  std::vector<std::string> failures(3);
  std::vector<std::thread> threads;
  for (std::size_t i : {0u, 1u, 2u}) {
    threads.emplace_back([&, i] {
      MeetingOptions options = tcp_options(i == 0 ? 0 : 1, 3, port);
      options.start_time_max = 1s;
      failures[i] = start_failure(options);
    });
  }
  for (std::thread& thread : threads) thread.join();
  const std::string both = failures[1] + failures[2];
  EXPECT_NE(both.find("two processes say they are rank 1"), std::string::npos) << both;
}

TEST(TcpStart, NoticesRanksThatCountDifferently) {
  const std::uint16_t port = free_port();
  std::vector<std::string> failures(2);
  std::vector<std::thread> threads;
  for (std::size_t rank : {0u, 1u}) {
    threads.emplace_back([&, rank] {
      MeetingOptions options = tcp_options(rank, rank == 0 ? 3 : 2, port);
      options.start_time_max = 2s;
      failures[rank] = start_failure(options);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failures[0], "rank 1 says that there are 2 ranks, and rank 0 that there are 3");
}

TEST(TcpStart, SaysWhatIsWrongWithTheOptions) {
  MeetingOptions options;
  options.rank = 2;
  options.size = 2;
  EXPECT_EQ(start_failure(options), "there is no rank 2 of 2");
  options.rank = 0;
  EXPECT_NE(start_failure(options).find("neither a directory nor a host"), std::string::npos);
  options.directory = "/nowhere/at/all";
  EXPECT_EQ(start_failure(options),
            "/nowhere/at/all: is not a directory, and ranks have to meet there");
  options.interface = "nosuch0";
  EXPECT_NE(start_failure(options).find("there is no network interface nosuch0 here, only "),
            std::string::npos);
}

}  // namespace
}  // namespace gradwire
