#include "gradwire/transport/tcp_store_session.h"

#include <poll.h>

#include <algorithm>
#include <utility>

namespace gradwire {
namespace {

constexpr std::size_t kKeysMax = 1 << 15;
constexpr std::chrono::seconds kGreetingTimeMax{5};

void erase_front(std::vector<std::byte>& bytes, std::size_t count) {
  bytes.erase(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(count));
}

}  // namespace

TcpStoreSession::TcpStoreSession(Channel channel, std::uint64_t run_key)
    : channel_(std::move(channel)),
      greeting_(StoreGreeting::write(run_key)),
      greet_until_(Clock::now() + kGreetingTimeMax) {}

short TcpStoreSession::events() const {
  if (!has_shaken_hands_) return channel_.events();
  return static_cast<short>(out_.empty() ? POLLIN : POLLIN | POLLOUT);
}

TcpStoreSession::Clock::time_point TcpStoreSession::deadline() const {
  if (!greeted_) return greet_until_;
  return wait_until_.value_or(Clock::time_point::max());
}

bool TcpStoreSession::advance(short events, StoreKeys& keys) {
  if (!has_shaken_hands_ && !shake_hands()) return false;
  if (!has_shaken_hands_) return Clock::now() < greet_until_;
  if ((events & (POLLIN | POLLHUP | POLLERR)) != 0 && !receive()) return false;
  if (!greeted_ && (!greet() || (greeted_ && !receive()))) return false;
  for (;;) {
    if (!send()) return false;
    if (!greeted_ || !out_.empty()) return true;
    const std::size_t before = in_.size();
    if (!answer(keys)) return false;
    if (in_.size() == before) return true;
  }
}

bool TcpStoreSession::shake_hands() {
  const Channel::State state = channel_.handshake();
  has_shaken_hands_ = state == Channel::State::ready;
  return state != Channel::State::closed;
}

// Before the greeting, nothing is read but the greeting.
bool TcpStoreSession::receive() {
  std::byte bytes[16384];
  for (;;) {
    const iovec part{bytes, greeted_ ? sizeof(bytes) : greeting_.size() - in_.size()};
    if (part.iov_len == 0) return true;
    const Channel::Progress progress = channel_.read({&part, 1});
    in_.insert(in_.end(), bytes, bytes + progress.bytes);
    constexpr std::size_t kPendingMax =
        StoreRequestHeader::kBytes + kStoreKeyBytesMax + kStoreValueBytesMax + sizeof(bytes);
    if (progress.state == Channel::State::closed || in_.size() > kPendingMax) return false;
    if (progress.state == Channel::State::blocked) return true;
  }
}

bool TcpStoreSession::send() {
  if (out_.empty()) return true;
  const iovec part{out_.data(), out_.size()};
  const Channel::Progress progress = channel_.write({&part, 1});
  erase_front(out_, progress.bytes);
  return progress.state != Channel::State::closed;
}

bool TcpStoreSession::greet() {
  if (!std::equal(in_.begin(), in_.end(), greeting_.begin())) {
    is_tls_ = refuse_tls(channel_, in_);
    return false;
  }
  if (in_.size() < greeting_.size()) return Clock::now() < greet_until_;
  greeted_ = true;
  in_.clear();
  const auto magic = std::as_bytes(std::span(kStoreMagic));
  out_.assign(magic.begin(), magic.end());
  return true;
}

// Takes one request from `in_` if it is there and can be answered.
bool TcpStoreSession::answer(StoreKeys& keys) {
  if (in_.size() < StoreRequestHeader::kBytes) return true;
  const auto header = StoreRequestHeader::read(in_);
  if (!header.makes_sense()) return false;
  const std::size_t bytes = StoreRequestHeader::kBytes + header.key_bytes + header.value_bytes;
  if (in_.size() < bytes) return true;
  const std::byte* key_begin = in_.data() + StoreRequestHeader::kBytes;
  const std::string key(reinterpret_cast<const char*>(key_begin), header.key_bytes);
  const std::byte* value_begin = key_begin + header.key_bytes;

  if (header.what == StoreRequest::add) {
    if (keys.size() >= kKeysMax) return false;
    const bool added = keys.try_emplace(key, value_begin, value_begin + header.value_bytes).second;
    reply(added ? StoreStatus::ok : StoreStatus::exists, {});
  } else if (!answer_get(keys, key, header.wait_ms)) {
    return true;
  }
  erase_front(in_, bytes);
  return true;
}

// False: not yet.
bool TcpStoreSession::answer_get(const StoreKeys& keys, const std::string& key,
                                 std::uint32_t wait_ms) {
  const auto now = Clock::now();
  if (!wait_until_) wait_until_ = now + std::chrono::milliseconds(wait_ms);
  const auto value = keys.find(key);
  if (value == keys.end() && now < *wait_until_) return false;
  wait_until_.reset();
  if (value == keys.end()) {
    reply(StoreStatus::missing, {});
  } else {
    reply(StoreStatus::ok, value->second);
  }
  return true;
}

void TcpStoreSession::reply(StoreStatus status, std::span<const std::byte> value) {
  out_.resize(StoreReplyHeader::kBytes);
  StoreReplyHeader{status, static_cast<std::uint32_t>(value.size())}.write(out_);
  out_.insert(out_.end(), value.begin(), value.end());
}

}  // namespace gradwire
