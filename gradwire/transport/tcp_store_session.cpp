#include "gradwire/transport/tcp_store_session.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace gradwire {
namespace {

constexpr std::size_t kKeysMax = 1 << 16;
constexpr std::chrono::seconds kGreetingTimeMax{5};

void erase_front(std::vector<std::byte>& bytes, std::size_t count) {
  bytes.erase(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(count));
}

}  // namespace

TcpStoreSession::TcpStoreSession(Descriptor socket)
    : socket_(std::move(socket)), greet_until_(Clock::now() + kGreetingTimeMax) {}

short TcpStoreSession::events() const {
  return static_cast<short>(out_.empty() ? POLLIN : POLLIN | POLLOUT);
}

TcpStoreSession::Clock::time_point TcpStoreSession::deadline() const {
  if (!greeted_) return greet_until_;
  return wait_until_.value_or(Clock::time_point::max());
}

bool TcpStoreSession::advance(short events, StoreKeys& keys) {
  if ((events & (POLLIN | POLLHUP | POLLERR)) != 0 && !receive()) return false;
  if (!greeted_ && !greet()) return false;
  for (;;) {
    if (!send()) return false;
    if (!greeted_ || !out_.empty()) return true;
    const std::size_t before = in_.size();
    if (!answer(keys)) return false;
    if (in_.size() == before) return true;
  }
}

bool TcpStoreSession::receive() {
  std::byte bytes[16384];
  const ssize_t count = recv(socket_.get(), bytes, sizeof(bytes), MSG_DONTWAIT);
  if (count < 0) return errno == EAGAIN || errno == EINTR;
  in_.insert(in_.end(), bytes, bytes + count);
  constexpr std::size_t kPendingMax =
      StoreRequestHeader::kBytes + kStoreKeyBytesMax + kStoreValueBytesMax + sizeof(bytes);
  return count > 0 && in_.size() <= kPendingMax;
}

bool TcpStoreSession::send() {
  if (out_.empty()) return true;
  const ssize_t count =
      ::send(socket_.get(), out_.data(), out_.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  if (count < 0) return errno == EAGAIN || errno == EINTR;
  erase_front(out_, static_cast<std::size_t>(count));
  return true;
}

bool TcpStoreSession::greet() {
  const std::size_t there = std::min(in_.size(), kStoreMagic.size());
  if (there > 0 && std::memcmp(in_.data(), kStoreMagic.data(), there) != 0) return false;
  if (there < kStoreMagic.size()) return Clock::now() < greet_until_;
  greeted_ = true;
  erase_front(in_, there);
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
