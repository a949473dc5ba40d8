#include "gradwire/transport/tls.h"

#include <sys/socket.h>

#include <algorithm>
#include <string>
#include <vector>

#include "gradwire/transport/openssl_memory_test_support.h"
#include "gradwire/transport/tls_reason.h"
#include "gradwire/transport/tls_test_support.h"
#include "gtest/gtest.h"

namespace gradwire {
namespace {

using State = Channel::State;

std::vector<std::byte> pattern(std::size_t bytes) {
  std::vector<std::byte> result(bytes);
  for (std::size_t i = 0; i < bytes; ++i) result[i] = static_cast<std::byte>(i * 2654435761u >> 13);
  return result;
}

iovec part_of(const std::vector<std::byte>& bytes) {
  return {const_cast<std::byte*>(bytes.data()), bytes.size()};
}

Channel::Progress write_text(Channel& channel, std::string_view text) {
  const iovec part{const_cast<char*>(text.data()), text.size()};
  return channel.write({&part, 1});
}

std::string read_text(Channel& channel, std::size_t bytes_max = 1000) {
  std::string text(bytes_max, '\0');
  const iovec part{text.data(), text.size()};
  text.resize(channel.read({&part, 1}).bytes);
  return text;
}

// Whether all bytes arrive, whatever a call moves at once.
bool arrives(Channel& from, Channel& to, const std::vector<std::byte>& sent,
             std::vector<std::byte>& received) {
  std::ranges::fill(received, std::byte{0});
  std::size_t out = 0;
  std::size_t in = 0;
  while (in < sent.size()) {
    const iovec source{const_cast<std::byte*>(sent.data()) + out, sent.size() - out};
    const auto written = from.write({&source, 1});
    out += written.bytes;
    const iovec target{received.data() + in, received.size() - in};
    const auto read = to.read({&target, 1});
    in += read.bytes;
    if (written.state == State::closed || read.state == State::closed) return false;
  }
  return received == sent;
}

bool arrives(Channel& from, Channel& to, const std::vector<std::byte>& sent) {
  std::vector<std::byte> received(sent.size());
  return arrives(from, to, sent, received);
}

// --- Those who have the secret -------------------------------------------------------------------

TEST(Tls, EndsWithTheSameSecretTalk) {
  ChannelPair pair = channel_pair(security_of(1), security_of(1));
  shake_hands(pair);
  EXPECT_EQ(write_text(pair.connects, "hello").bytes, 5u);
  EXPECT_EQ(read_text(pair.accepts), "hello");
  EXPECT_EQ(write_text(pair.accepts, "welcome").bytes, 7u);
  EXPECT_EQ(read_text(pair.connects), "welcome");
}

TEST(Tls, ManyBytesArriveWhateverTheSocketTakesAtOnce) {
  for (const int socket_bytes : {0, 4096, 1 << 20}) {
    ChannelPair pair = channel_pair(security_of(1), security_of(1));
    if (socket_bytes > 0) {
      setsockopt(pair.connects.descriptor(), SOL_SOCKET, SO_SNDBUF, &socket_bytes,
                 sizeof(socket_bytes));
    }
    shake_hands(pair);
    EXPECT_TRUE(arrives(pair.connects, pair.accepts, pattern(3'000'001))) << socket_bytes;
    EXPECT_TRUE(arrives(pair.accepts, pair.connects, pattern(100'000))) << socket_bytes;
  }
}

TEST(Tls, BothDirectionsAreFullAtTheSameTime) {
  ChannelPair pair = channel_pair(security_of(1), security_of(1));
  shake_hands(pair);
  const auto bytes = pattern(4'000'000);
  const iovec part = part_of(bytes);
  std::size_t there = pair.connects.write({&part, 1}).bytes;
  std::size_t back = pair.accepts.write({&part, 1}).bytes;
  EXPECT_LT(there, bytes.size());
  EXPECT_LT(back, bytes.size());
  std::vector<std::byte> at_accepts;
  std::vector<std::byte> at_connects;
  std::vector<std::byte> buffer(100'000);
  const auto step = [&](Channel& from, std::size_t& sent, Channel& to,
                        std::vector<std::byte>& received) {
    const iovec rest{const_cast<std::byte*>(bytes.data()) + sent, bytes.size() - sent};
    if (sent < bytes.size()) sent += from.write({&rest, 1}).bytes;
    const iovec room = part_of(buffer);
    const std::size_t count = to.read({&room, 1}).bytes;
    received.insert(received.end(), buffer.begin(),
                    buffer.begin() + static_cast<std::ptrdiff_t>(count));
  };
  for (int turn = 0; turn < 10'000; ++turn) {
    step(pair.connects, there, pair.accepts, at_accepts);
    step(pair.accepts, back, pair.connects, at_connects);
    if (at_accepts.size() == bytes.size() && at_connects.size() == bytes.size()) break;
  }
  EXPECT_TRUE(at_accepts == bytes);
  EXPECT_TRUE(at_connects == bytes);
}

TEST(Tls, AHeaderSharesItsRecordWithThePayload) {
  Tapped tapped(security_of(1), security_of(1));
  tapped.shake_hands();
  tapped.pass_on();
  const auto header = pattern(24);
  const auto payload = pattern(TlsSession::kRecordBytes - 24);
  const iovec parts[] = {part_of(header), part_of({}), part_of(payload)};
  EXPECT_EQ(tapped.pair.connects.write(parts).bytes, TlsSession::kRecordBytes);
  constexpr std::size_t kRecordOverhead = 5 + 1 + 16;  // header, kind, checksum
  EXPECT_EQ(tapped.intercept().size(), TlsSession::kRecordBytes + kRecordOverhead);
}

TEST(Tls, PartsOfAWriteArriveInTheirOrder) {
  ChannelPair pair = channel_pair(security_of(1), security_of(1));
  shake_hands(pair);
  const auto all = pattern(50'000);
  std::vector<iovec> parts;
  std::size_t at = 0;
  for (std::size_t bytes = 0; at < all.size(); ++bytes) {
    const std::size_t taken = std::min(bytes * bytes, all.size() - at);
    parts.push_back({const_cast<std::byte*>(all.data()) + at, taken});
    at += taken;
  }
  EXPECT_EQ(pair.connects.write(parts).bytes, all.size());
  std::vector<std::byte> received(all.size());
  const iovec targets[] = {{received.data(), 7}, {received.data() + 7, received.size() - 7}};
  EXPECT_EQ(pair.accepts.read(targets).bytes, all.size());
  EXPECT_TRUE(received == all);
}

TEST(Tls, KeysChangeWithoutLossOfBytes) {
  auto [one, two] = socket_pair();
  TlsSession connects(security_of(1), one.get(), Channel::Role::connects);
  TlsSession accepts(security_of(1), two.get(), Channel::Role::accepts);
  for (int turn = 0; turn < 10; ++turn) connects.handshake(), accepts.handshake();
  connects.set_records_per_key(2);
  accepts.set_records_per_key(1);
  const auto sent = pattern(1'000'000);
  const auto send_over = [&](TlsSession& from, TlsSession& to) {
    std::vector<std::byte> received(sent.size());
    std::size_t out = 0;
    std::size_t in = 0;
    for (int turn = 0; turn < 1000 && in < sent.size(); ++turn) {
      const iovec source{const_cast<std::byte*>(sent.data()) + out, sent.size() - out};
      if (out < sent.size()) out += from.write({&source, 1}).bytes;
      const iovec target{received.data() + in, received.size() - in};
      in += to.read({&target, 1}).bytes;
    }
    return received == sent;
  };
  EXPECT_TRUE(send_over(connects, accepts)) << connects.reason() << accepts.reason();
  EXPECT_TRUE(send_over(accepts, connects)) << connects.reason() << accepts.reason();
}

TEST(Tls, APeerThatClosesIsSeenAndWritingToItKillsNobody) {
  ChannelPair pair = channel_pair(security_of(1), security_of(1));
  shake_hands(pair);
  write_text(pair.accepts, "last words");
  pair.accepts.close();
  EXPECT_EQ(read_text(pair.connects), "last words");
  const iovec none{};
  EXPECT_EQ(pair.connects.read({&none, 0}).state, State::closed);
  EXPECT_EQ(write_text(pair.connects, "hello?").state, State::closed);
  EXPECT_EQ(pair.connects.reason(), "");
}

// OpenSSL 3.0 takes four small blocks for each record, at both ends together, and gives them back
// at once. Nobody else allocates.
TEST(Tls, SteadyWorkDoesNotAllocateApartFromOpenSsl) {
  if (GW_ALLOCATOR_IS_TAKEN) GTEST_SKIP() << "a sanitizer counts allocations by itself";
  ASSERT_TRUE(openssl_memory.is_counted);
  ChannelPair pair = channel_pair(security_of(1), security_of(1));
  shake_hands(pair);
  const auto bytes = pattern(200'000);
  std::vector<std::byte> received(bytes.size());
  ASSERT_TRUE(arrives(pair.connects, pair.accepts, bytes, received));
  ASSERT_TRUE(arrives(pair.accepts, pair.connects, bytes, received));
  const std::size_t before = allocations;
  const std::size_t openssl_before = openssl_memory.allocations;
  const std::size_t bytes_before = openssl_memory.bytes;
  bool all_arrive = true;
  constexpr std::size_t kSteps = 10;
  for (std::size_t step = 0; step < kSteps; ++step) {
    all_arrive &= arrives(pair.connects, pair.accepts, bytes, received);
    all_arrive &= arrives(pair.accepts, pair.connects, bytes, received);
  }
  const std::size_t records =
      2 * kSteps * ((bytes.size() + TlsSession::kRecordBytes - 1) / TlsSession::kRecordBytes);
  EXPECT_EQ(allocations - before, 0u);
  EXPECT_LE(openssl_memory.allocations - openssl_before, 4 * records);
  EXPECT_EQ(openssl_memory.bytes, bytes_before);
  EXPECT_TRUE(all_arrive);
}

// --- Those who have not --------------------------------------------------------------------------

TEST(Tls, DifferentSecretsAreToldAtBothEnds) {
  ChannelPair pair = channel_pair(security_of(1), security_of(2));
  shake_hands(pair);
  EXPECT_FALSE(pair.connects);
  EXPECT_FALSE(pair.accepts);
  EXPECT_EQ(pair.connects.reason(),
            "the other end has another secret: give the same secret file to all ranks");
  EXPECT_EQ(pair.accepts.reason(), pair.connects.reason());
}

TEST(Tls, AnEndWithoutASecretIsRefusedAndToldSo) {
  ChannelPair pair = channel_pair(nullptr, security_of(1));
  write_text(pair.connects, "GWSTORE1");
  EXPECT_EQ(pair.accepts.handshake(), State::closed);
  EXPECT_EQ(pair.accepts.reason(), kPeerIsPlain);
  const std::string answer = read_text(pair.connects);
  EXPECT_TRUE(looks_like_tls(std::as_bytes(std::span(answer))));
}

TEST(Tls, AnEndWithoutASecretThatIsConnectedToIsTold) {
  ChannelPair pair = channel_pair(security_of(1), nullptr);
  EXPECT_EQ(pair.connects.handshake(), State::blocked);
  const std::string first = read_text(pair.accepts);
  EXPECT_TRUE(looks_like_tls(std::as_bytes(std::span(first))));
  put_bytes(pair.accepts.descriptor(),
            {reinterpret_cast<const char*>(kSpeakPlainAlert.data()), kSpeakPlainAlert.size()});
  EXPECT_EQ(pair.connects.handshake(), State::closed);
  EXPECT_EQ(pair.connects.reason(), kPeerIsPlain);
}

TEST(Tls, PlainAnswersOfAnEndWithoutASecretAreNamed) {
  ChannelPair pair = channel_pair(security_of(1), nullptr);
  EXPECT_EQ(pair.connects.handshake(), State::blocked);
  write_text(pair.accepts, "GWSTORE1");
  EXPECT_EQ(pair.connects.handshake(), State::closed);
  EXPECT_EQ(pair.connects.reason(), kPeerIsPlain);
}

TEST(Tls, StrangersAreRefused) {
  const std::string strangers[] = {
      "GET / HTTP/1.1\r\nHost: rank0\r\n\r\n",
      std::string(100'000, 'A'),
      std::string(100, '\0'),
      "\x16\x03\x01\xff\xff" + std::string(70'000, 'x'),  // a hello of 65,535 bytes
      std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11) + std::string(600, 'x'),
      std::string("\x15\x03\x03\x00\x02\x02\x28", 7),  // an alert
      std::string("\x17\x03\x03\x00\x20", 5) + std::string(32, 'x'),
  };
  for (const std::string& bytes : strangers) {
    auto [stranger, socket] = socket_pair();
    Channel accepts(std::move(socket), Channel::Role::accepts, security_of(1));
    put_bytes(stranger.get(), bytes);
    State state = State::blocked;
    for (int turn = 0; turn < 100 && state == State::blocked; ++turn) state = accepts.handshake();
    EXPECT_EQ(state, State::closed) << bytes.substr(0, 20);
    EXPECT_NE(accepts.reason(), "");
    EXPECT_EQ(accepts.reason().find("AAAA"), std::string::npos);
  }
}

TEST(Tls, AStrangerThatSendsNothingCostsNoMemory) {
  auto [stranger, socket] = socket_pair();
  Channel accepts(std::move(socket), Channel::Role::accepts, security_of(1));
  const std::size_t before = allocations;
  const std::size_t openssl_before = openssl_memory.allocations;
  EXPECT_EQ(accepts.handshake(), State::blocked);
  EXPECT_EQ(allocations - before, 0u);
  EXPECT_EQ(openssl_memory.allocations, openssl_before);
}

// The dearest stranger begins a hello of TLS and does not end it: whoever sends a whole hello
// without the secret is refused at once. docs/security.md has the figure, which is that of
// OpenSSL 3.0.
TEST(Tls, AStrangerThatSendsAHelloCostsLittleMemory) {
  if (GW_ALLOCATOR_IS_TAKEN) GTEST_SKIP() << "a sanitizer counts allocations by itself";
  const Security security = security_of(1);
  const auto cost_of = [&](std::size_t hello_bytes_max) {
    Tapped tapped(security_of(2), security);
    EXPECT_EQ(tapped.pair.connects.handshake(), State::blocked);
    const std::size_t before = openssl_memory.bytes;
    tapped.deliver(tapped.intercept().substr(0, hello_bytes_max));
    tapped.pair.accepts.handshake();
    return openssl_memory.bytes - before;
  };
  cost_of(SIZE_MAX);  // OpenSSL keeps some things for ever
  constexpr std::size_t kBytesMax = 96 << 10;
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{100}, SIZE_MAX}) {
    const std::size_t cost = cost_of(bytes);
    std::printf("a stranger that sends %s of its hello costs %zu bytes\n",
                bytes == SIZE_MAX ? "all" : (std::to_string(bytes) + " bytes").c_str(), cost);
    EXPECT_LE(cost, kBytesMax);
  }
}

TEST(Tls, BytesOnTheWayCannotBeRead) {
  Tapped tapped(security_of(1), security_of(1));
  tapped.shake_hands();
  write_text(tapped.pair.connects, "a gradient that nobody else shall see");
  tapped.pass_on();
  EXPECT_EQ(read_text(tapped.pair.accepts), "a gradient that nobody else shall see");
  EXPECT_EQ(tapped.of_connects.find("gradient"), std::string::npos);
}

TEST(Tls, AChangedByteEndsTheConnection) {
  Tapped tapped(security_of(1), security_of(1));
  tapped.shake_hands();
  tapped.pass_on();
  write_text(tapped.pair.connects, "a gradient");
  std::string bytes = tapped.intercept();
  bytes[10] = static_cast<char>(bytes[10] ^ 1);
  tapped.deliver(bytes);
  EXPECT_EQ(read_text(tapped.pair.accepts), "");
  EXPECT_FALSE(tapped.pair.accepts);
  EXPECT_EQ(tapped.pair.accepts.reason(), "encrypted bytes were changed on their way");
}

TEST(Tls, BytesOfAnotherConnectionWithTheSameSecretAreRefused) {
  Tapped earlier(security_of(1), security_of(1));
  earlier.shake_hands();
  write_text(earlier.pair.connects, "the hello of a rank");
  earlier.pass_on();
  ASSERT_EQ(read_text(earlier.pair.accepts), "the hello of a rank");

  auto [stranger, socket] = socket_pair();
  Channel accepts(std::move(socket), Channel::Role::accepts, security_of(1));
  put_bytes(stranger.get(), earlier.of_connects);
  State state = State::blocked;
  for (int turn = 0; turn < 100 && state == State::blocked; ++turn) state = accepts.handshake();
  EXPECT_EQ(state, State::closed);
}

TEST(Tls, ARecordThatIsRepeatedEndsTheConnection) {
  Tapped tapped(security_of(1), security_of(1));
  tapped.shake_hands();
  tapped.pass_on();
  write_text(tapped.pair.connects, "once");
  const std::string bytes = tapped.intercept();
  tapped.deliver(bytes + bytes);
  EXPECT_EQ(read_text(tapped.pair.accepts), "once");
  EXPECT_FALSE(tapped.pair.accepts);
}

}  // namespace
}  // namespace gradwire
