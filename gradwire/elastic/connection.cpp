#include "gradwire/elastic/connection.h"

#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "gradwire/core/bytes.h"

namespace gradwire::elastic {
namespace {

// Memory grows with the bytes that came, not with the length that somebody claims.
constexpr std::size_t kReadBytes = std::size_t{1} << 18;

}  // namespace

void Connection::send(Bytes bytes) {
  if (has_ended_) return;
  unsent_bytes_ += bytes.size();
  out_.push_back(std::move(bytes));
}

void Connection::end_writing() {
  if (!std::exchange(has_ended_, true)) shutdown(descriptor(), SHUT_WR);
}

bool Connection::write() {
  while (!out_.empty()) {
    constexpr std::size_t kPartsMax = 16;
    iovec parts[kPartsMax];
    std::size_t count = 0;
    for (const Bytes& bytes : out_) {
      if (count == kPartsMax) break;
      const std::size_t at = count == 0 ? out_at_ : 0;
      parts[count++] = {const_cast<std::byte*>(bytes.data()) + at, bytes.size() - at};
    }
    const Channel::Progress progress = channel_.write({parts, count});
    unsent_bytes_ -= progress.bytes;
    std::size_t moved = progress.bytes;
    while (moved > 0) {
      const std::size_t rest = out_.front().size() - out_at_;
      if (moved < rest) {
        out_at_ += moved;
        break;
      }
      moved -= rest;
      out_at_ = 0;
      out_.pop_front();
    }
    if (progress.state == Channel::State::closed) return false;
    if (progress.state == Channel::State::blocked) return true;
  }
  return true;
}

short Connection::events() const {
  short events = POLLIN;
  if (has_unsent()) events = static_cast<short>(events | POLLOUT | channel_.events());
  return events;
}

// False: the other end has closed it.
bool Connection::fill() {
  if (in_at_ > 0) {
    std::memmove(in_.data(), in_.data() + in_at_, in_end_ - in_at_);
    in_end_ -= in_at_;
    in_at_ = 0;
  }
  if (in_.size() < in_end_ + kReadBytes) in_.resize(std::max(in_.size() * 2, in_end_ + kReadBytes));
  const iovec room{in_.data() + in_end_, in_.size() - in_end_};
  const Channel::Progress progress = channel_.read({&room, 1});
  in_end_ += progress.bytes;
  is_blocked_ = progress.state == Channel::State::blocked;
  return progress.state != Channel::State::closed;
}

std::optional<Packet> Connection::next_packet() {
  const auto rest = std::span<const std::byte>(in_).subspan(in_at_, in_end_ - in_at_);
  if (!reason_.empty() || rest.size() < kLengthBytes) return std::nullopt;
  const std::size_t bytes = load_le<std::uint32_t>(rest, 0);
  if (bytes > kPacketBytesMax) {
    reason_ = "it sent a packet that is too long";
    return std::nullopt;
  }
  if (rest.size() - kLengthBytes < bytes) return std::nullopt;
  Decoded<Packet> packet = parse_packet(rest.subspan(kLengthBytes, bytes));
  if (!packet) {
    reason_ = std::string("it sent a wrong packet: ") + packet.error().what;
    return std::nullopt;
  }
  in_at_ += kLengthBytes + bytes;
  return std::move(*packet);
}

}  // namespace gradwire::elastic
