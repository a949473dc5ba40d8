#include "gradwire/transport/tcp_store.h"

#include <algorithm>
#include <utility>

#include "gradwire/core/check.h"
#include "gradwire/transport/tcp_connect.h"
#include "gradwire/transport/tls_reason.h"
#include "gradwire/transport/transport.h"

namespace gradwire {
namespace {

using std::chrono::milliseconds;

// What an answer may take beyond the waiting that was asked for.
constexpr std::chrono::seconds kAnswerTimeMax{10};

}  // namespace

TcpStore::TcpStore(const std::string& host, std::uint16_t port, std::chrono::milliseconds time_max,
                   std::shared_ptr<const TlsContext> security, std::uint64_t run_key)
    : StartStore(time_max),
      where_(host + ":" + std::to_string(port)),
      channel_(connect_within(host, port, time_max), Channel::Role::connects, std::move(security)) {
  greet(run_key);
}

bool TcpStore::add(const std::string& key, const std::vector<char>& value) {
  StoreRequestHeader header;
  header.what = StoreRequest::add;
  return ask(header, key, value).status == StoreStatus::ok;
}

std::optional<std::vector<char>> TcpStore::get_until(const std::string& key,
                                                     Clock::time_point time) {
  constexpr milliseconds kLong = std::chrono::hours(1);
  for (;;) {
    const auto left = std::chrono::ceil<milliseconds>(time - Clock::now());
    StoreRequestHeader header;
    header.what = StoreRequest::get;
    header.wait_ms = static_cast<std::uint32_t>(std::clamp(left, milliseconds{0}, kLong).count());
    Reply reply = ask(header, key, {});
    if (reply.status == StoreStatus::ok) return std::move(reply.value);
    if (Clock::now() >= time) return std::nullopt;
  }
}

void TcpStore::greet(std::uint64_t run_key) {
  const auto until = std::max(deadline(), Clock::now() + std::chrono::seconds(1));
  if (!finish_handshake(channel_, until)) fail_to_answer();
  send(StoreGreeting::write(run_key), until);
  std::array<char, kStoreMagic.size()> answer{};
  const auto bytes = std::as_writable_bytes(std::span(answer));
  const bool is_answered = read_all(channel_, bytes, until);
  if (looks_like_tls(bytes)) fail(kPeerIsEncrypted);
  if (!is_answered && !channel_ && channel_.reason().empty()) {
    fail(
        "rank 0 does not take it for a rank of its run: are all ranks of this version, and "
        "started together?");
  }
  if (!is_answered) fail_to_answer();
  if (answer != kStoreMagic) {
    fail("what listens there is not this version of gradwire: choose another MASTER_PORT");
  }
}

TcpStore::Reply TcpStore::ask(StoreRequestHeader header, const std::string& key,
                              std::span<const char> value) {
  GW_CHECK(key.size() <= kStoreKeyBytesMax && value.size() <= kStoreValueBytesMax);
  header.key_bytes = static_cast<std::uint32_t>(key.size());
  header.value_bytes = static_cast<std::uint32_t>(value.size());
  std::vector<std::byte> request(StoreRequestHeader::kBytes);
  header.write(request);
  const auto key_bytes = std::as_bytes(std::span(key));
  const auto value_bytes = std::as_bytes(value);
  request.insert(request.end(), key_bytes.begin(), key_bytes.end());
  request.insert(request.end(), value_bytes.begin(), value_bytes.end());

  const auto until = Clock::now() + milliseconds(header.wait_ms) + kAnswerTimeMax;
  send(request, until);
  std::array<std::byte, StoreReplyHeader::kBytes> bytes{};
  receive(bytes, until);
  const auto reply = StoreReplyHeader::read(bytes);
  if (reply.value_bytes > kStoreValueBytesMax) fail("it sends what makes no sense");
  std::vector<char> answer(reply.value_bytes);
  receive(std::as_writable_bytes(std::span(answer)), until);
  return {reply.status, std::move(answer)};
}

void TcpStore::send(std::span<const std::byte> bytes, Clock::time_point until) {
  if (!write_all(channel_, bytes, until)) fail_to_answer();
}

void TcpStore::receive(std::span<std::byte> bytes, Clock::time_point until) {
  if (!read_all(channel_, bytes, until)) fail_to_answer();
}

void TcpStore::fail_to_answer() const {
  if (channel_) fail("rank 0 does not answer");
  fail(channel_.reason().empty() ? "rank 0 has ended it" : channel_.reason());
}

void TcpStore::fail(const std::string& what) const {
  throw StartError("the rendezvous at " + where_ + " is cut off: " + what);
}

}  // namespace gradwire
