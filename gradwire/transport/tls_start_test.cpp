// Ranks with secrets come together, and strangers do not keep them from it.
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "gradwire/transport/certificates_test_support.h"
#include "gradwire/transport/tcp_connect.h"
#include "gradwire/transport/tcp_hello.h"
#include "gradwire/transport/tcp_listener.h"
#include "gradwire/transport/tcp_store.h"
#include "gradwire/transport/tcp_store_server.h"
#include "gradwire/transport/tcp_test_support.h"
#include "gradwire/transport/tls_reason.h"
#include "gradwire/transport/tls_test_support.h"
#include "gtest/gtest.h"

namespace gradwire {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using Options = std::vector<TcpOptions>;

// By a port, or by files.
Options two_ranks(const SecurityOptions& zero, const SecurityOptions& one,
                  std::chrono::milliseconds time_max, const std::string& directory = {}) {
  const std::uint16_t port = TcpStoreServer(0).port();
  Options all;
  for (const SecurityOptions& security : {zero, one}) {
    const MeetingOptions meeting{.rank = all.size(),
                                 .size = 2,
                                 .directory = directory,
                                 .master_host = "127.0.0.1",
                                 .master_port = port,
                                 .start_time_max = time_max};
    all.push_back({.meeting = meeting, .security = security});
  }
  return all;
}

// The reasons that a rank gives while it waits.
class Refused {
 public:
  explicit Refused(TcpOptions& options) {
    options.meeting.on_refusal = [this](const std::string& reason) {
      const std::lock_guard lock(mutex_);
      reasons_.push_back(reason);
    };
  }
  std::vector<std::string> reasons() const {
    const std::lock_guard lock(mutex_);
    return reasons_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> reasons_;
};

// What each rank says: "talks", or why it cannot.
std::vector<std::string> meet(const Options& options) {
  std::vector<std::string> said(options.size());
  std::vector<std::unique_ptr<Transport>> transports(options.size());
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < options.size(); ++rank) {
    threads.emplace_back([&, rank] {
      try {
        transports[rank] = make_tcp_transport(options[rank]);
        const std::size_t peer = 1 - rank;
        if (rank == 0) send_text(*transports[rank], peer, kUp, "hello");
        said[rank] = rank == 0 || receive_text(*transports[rank], peer, kUp, 5) == "hello"
                         ? "talks"
                         : "hears something else";
      } catch (const Error& error) {
        said[rank] = error.what();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return said;
}

void expect_part(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << text;
}

const SecurityOptions kNoSecret = {};
const SecurityOptions kOurs = {.secret = secret_of(1)};
const SecurityOptions kTheirs = {.secret = secret_of(2)};

TEST(TlsStart, RanksWithTheSameSecretTalk) {
  const RendezvousDirectory directory;
  const std::string path = directory.options(0, 2).directory;
  const std::vector<std::string> talk(2, "talks");
  EXPECT_EQ(meet(two_ranks(kOurs, kOurs, kPatience)), talk);
  EXPECT_EQ(meet(two_ranks(kOurs, kOurs, kPatience, path)), talk);
}

TEST(TlsStart, DifferentSecretsAreToldOnBothRanks) {
  const auto said = meet(two_ranks(kOurs, kTheirs, 500ms));
  expect_part(said[0], "rank 1 has not come");
  expect_part(said[0], "the other end has another secret");
  expect_part(said[1], "the other end has another secret");
}

TEST(TlsStart, DifferentSecretsAreToldOnBothRanksThatMeetByFiles) {
  const RendezvousDirectory directory;
  const auto said = meet(two_ranks(kOurs, kTheirs, 500ms, directory.options(0, 2).directory));
  expect_part(said[0], "rank 1 has not connected to rank 0");
  expect_part(said[0], "the other end has another secret");
  expect_part(said[1], "rank 1 cannot connect to rank 0");
  expect_part(said[1], "the other end has another secret");
}

// Not only when the time of the start is over.
TEST(TlsStart, ARankThatWaitsTellsOnceWhomItHasRefused) {
  for (const auto& [theirs, reason] :
       {std::pair<SecurityOptions, std::string>(kTheirs, "the other end has another secret"),
        {kNoSecret, kPeerIsPlain}}) {
    Options options = two_ranks(kOurs, kOurs, kPatience);
    const Refused refused(options[0]);
    TcpOptions stranger = options[1];
    stranger.security = theirs;
    stranger.meeting.start_time_max = 100ms;
    std::thread zero([&] { EXPECT_NO_THROW(make_tcp_transport(options[0])); });
    const auto end = Clock::now() + kPatience;
    for (int i = 0; i < 3 || (refused.reasons().empty() && Clock::now() < end); ++i) {
      EXPECT_THROW(make_tcp_transport(stranger), StartError);
    }
    EXPECT_NO_THROW(make_tcp_transport(options[1]));
    zero.join();
    ASSERT_EQ(refused.reasons().size(), 1u);
    expect_part(refused.reasons()[0], reason);
  }
}

TEST(TlsStart, AMissingSecretIsToldOnBothRanks) {
  auto said = meet(two_ranks(kOurs, kNoSecret, 500ms));
  expect_part(said[0], kPeerIsPlain);
  expect_part(said[1], kPeerIsEncrypted);
  said = meet(two_ranks(kNoSecret, kOurs, 500ms));
  expect_part(said[0], kPeerIsEncrypted);
  expect_part(said[1], kPeerIsPlain);
}

TEST(TlsStart, AMissingSecretIsToldOnBothRanksThatMeetByFiles) {
  const RendezvousDirectory one;
  auto said = meet(two_ranks(kOurs, kNoSecret, 500ms, one.options(0, 2).directory));
  expect_part(said[0], kPeerIsPlain);
  expect_part(said[1], kPeerIsEncrypted);
  const RendezvousDirectory two;
  said = meet(two_ranks(kNoSecret, kOurs, 500ms, two.options(0, 2).directory));
  expect_part(said[0], kPeerIsEncrypted);
  expect_part(said[1], kPeerIsPlain);
}

TEST(TlsStart, CertificatesOfAnotherAuthorityAreToldOnBothRanks) {
  const RendezvousDirectory directory;
  const std::string path = directory.options(0, 2).directory;
  const Certificate ours = make_authority("ours");
  const Certificate theirs = make_authority("theirs");
  const Certificate zero = make_certificate({.name = "zero"}, &ours);
  const Certificate one = make_certificate({.name = "one"}, &ours);
  const Certificate foreign = make_certificate({.name = "foreign"}, &theirs);
  const SecurityOptions files = write_certificates(path, "zero", zero, ours);
  EXPECT_EQ(meet(two_ranks(files, write_certificates(path, "one", one, ours), kPatience)),
            std::vector<std::string>(2, "talks"));
  const auto said =
      meet(two_ranks(files, write_certificates(path, "foreign", foreign, ours), 500ms));
  expect_part(said[0], "not signed by the authority");
  expect_part(said[1], "does not know the authority of this rank's certificate");
}

TEST(TlsStart, MessagesNeverHaveTheSecret) {
  const auto said = meet(two_ranks(kOurs, kTheirs, 500ms));
  for (const std::string& text : said) {
    EXPECT_EQ(text.find("0101"), std::string::npos) << text;
    EXPECT_EQ(text.find("0202"), std::string::npos) << text;
    EXPECT_EQ(text.find("\x01\x01"), std::string::npos) << text;
  }
}

// --- Strangers -----------------------------------------------------------------------------------

const std::string kClientHelloBegin("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11);

// All that a rank with our secret has sent in an earlier run.
std::string bytes_of_an_earlier_run() {
  Tapped earlier(security_of(1), security_of(1));
  earlier.shake_hands();
  const auto hello = TcpHello{.rank = 1}.write();
  write_all(earlier.pair.connects, hello, Clock::now() + kPatience);
  earlier.pass_on();
  return earlier.of_connects;
}

std::string plain_hello() {
  const auto hello = TcpHello{.rank = 1}.write();
  return {reinterpret_cast<const char*>(hello.data()), hello.size()};
}

// They are refused as soon as they have spoken.
std::vector<std::string> loud_strangers() {
  return {"GET / HTTP/1.1\r\nHost: rank0\r\n\r\n",
          std::string(100'000, 'A'),
          std::string(1000, '\0'),
          "GWSTORE1",
          plain_hello(),
          "\x16\x03\x01\xff\xff" + std::string(70'000, 'x'),
          kClientHelloBegin + std::string(600, 'x'),
          bytes_of_an_earlier_run()};
}

// They are refused when their time is over.
std::vector<std::string> slow_strangers() {
  return {"", "\x16", kClientHelloBegin, kClientHelloBegin + std::string(100, 'x'),
          bytes_of_an_earlier_run().substr(0, 100)};
}

std::vector<Descriptor> visit(std::uint16_t port, const std::vector<std::string>& strangers) {
  std::vector<Descriptor> sockets;
  for (const std::string& bytes : strangers) {
    sockets.push_back(connect_within("127.0.0.1", port, kPatience));
    put_bytes(sockets.back().get(), bytes);
  }
  return sockets;
}

bool is_closed_by_peer(const Descriptor& socket) {
  char bytes[64];
  for (;;) {
    if (!wait_for_socket(socket.get(), POLLIN, Clock::now() + kPatience)) return false;
    if (recv(socket.get(), bytes, sizeof(bytes), 0) <= 0) return true;
  }
}

TEST(TlsStrangers, AreRefusedByTheRendezvousAndCounted) {
  const TcpStoreServer server(0, security_of(1));
  const auto slow = visit(server.port(), slow_strangers());
  const auto loud = visit(server.port(), loud_strangers());
  TcpStore rank("127.0.0.1", server.port(), kPatience, security_of(1));
  EXPECT_TRUE(rank.add("key", {'x'}));
  for (const Descriptor& socket : loud) EXPECT_TRUE(is_closed_by_peer(socket));
  for (const Descriptor& socket : slow) EXPECT_TRUE(is_closed_by_peer(socket));
  EXPECT_EQ(server.refusals().count, slow.size() + loud.size());
  EXPECT_EQ(rank.get("key"), std::vector<char>{'x'});
}

TEST(TlsStrangers, AreRefusedByTheListenerAndCounted) {
  const GroupKey key{};
  TcpListener listener("127.0.0.1", security_of(1));
  const auto slow = visit(listener.port(), slow_strangers());
  const auto loud = visit(listener.port(), loud_strangers());
  std::thread rank([&] {
    Channel channel(connect_within("127.0.0.1", listener.port(), kPatience),
                    Channel::Role::connects, security_of(1));
    EXPECT_TRUE(finish_handshake(channel, Clock::now() + kPatience)) << channel.reason();
    EXPECT_TRUE(write_all(channel, TcpHello{.rank = 7}.write(), Clock::now() + kPatience));
  });
  const auto guests = listener.accept(key, Clock::now() + kPatience);
  rank.join();
  ASSERT_EQ(guests.size(), 1u);
  EXPECT_EQ(guests[0].hello.rank, 7u);
  const auto end = Clock::now() + kPatience;
  while (listener.refusals().count < slow.size() + loud.size() && Clock::now() < end) {
    EXPECT_TRUE(listener.accept(key, Clock::now() + 100ms).empty());
  }
  EXPECT_EQ(listener.refusals().count, slow.size() + loud.size());
  for (const Descriptor& socket : loud) EXPECT_TRUE(is_closed_by_peer(socket));
  for (const Descriptor& socket : slow) EXPECT_TRUE(is_closed_by_peer(socket));
}

TEST(TlsStrangers, DoNotKeepRanksFromMeeting) {
  const Options options = two_ranks(kOurs, kOurs, kPatience);
  std::thread strangers([&] {
    try {
      visit(options[0].meeting.master_port, slow_strangers());
      visit(options[0].meeting.master_port, loud_strangers());
    } catch (const StartError&) {  // the ranks have met already
    }
  });
  EXPECT_EQ(meet(options), std::vector<std::string>(2, "talks"));
  strangers.join();
}

}  // namespace
}  // namespace gradwire
