#include "gradwire/transport/channel.h"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "gradwire/transport/tcp_connect.h"
#include "gradwire/transport/tls.h"

namespace gradwire {
namespace {

std::size_t total_bytes(std::span<const iovec> parts) {
  std::size_t bytes = 0;
  for (const iovec& part : parts) bytes += part.iov_len;
  return bytes;
}

}  // namespace

Channel::Channel() = default;
Channel::~Channel() = default;
Channel::Channel(Channel&&) noexcept = default;
Channel& Channel::operator=(Channel&&) noexcept = default;

Channel::Channel(Descriptor socket, Role role, std::shared_ptr<const TlsContext> security)
    : socket_(std::move(socket)) {
  if (!security) return;  // plain sockets do not care who has connected
  tls_ = std::make_unique<TlsSession>(std::move(security), socket_.get(), role);
}

Channel::State Channel::handshake() {
  if (!socket_) return State::closed;
  if (!tls_) return State::ready;
  return told_by_tls({.state = tls_->handshake()}).state;
}

Channel::Progress Channel::read(std::span<const iovec> parts) {
  events_ = POLLIN;
  if (!socket_) return {.state = State::closed};
  if (tls_) return told_by_tls(tls_->read(parts));
  ssize_t bytes = 0;
  do {
    bytes = readv(socket_.get(), parts.data(), static_cast<int>(parts.size()));
  } while (bytes < 0 && errno == EINTR);
  if (bytes < 0) return fail(errno);
  const auto received = static_cast<std::size_t>(bytes);
  const std::size_t room = total_bytes(parts);
  if (received == 0 && room > 0) {
    close();  // the other end has
    return {.state = State::closed};
  }
  return {received, received < room ? State::blocked : State::ready};
}

Channel::Progress Channel::write(std::span<const iovec> parts) {
  events_ = POLLOUT;
  if (!socket_) return {.state = State::closed};
  if (tls_) return told_by_tls(tls_->write(parts));
  msghdr message{};
  message.msg_iov = const_cast<iovec*>(parts.data());  // sendmsg() does not write to it
  message.msg_iovlen = parts.size();
  ssize_t bytes = 0;
  do {
    bytes = sendmsg(socket_.get(), &message, MSG_DONTWAIT | MSG_NOSIGNAL);
  } while (bytes < 0 && errno == EINTR);
  if (bytes < 0) return fail(errno);
  const auto sent = static_cast<std::size_t>(bytes);
  return {sent, sent < total_bytes(parts) ? State::blocked : State::ready};
}

Channel::Progress Channel::fail(int error) {
  if (error == EAGAIN || error == EWOULDBLOCK) return {.state = State::blocked};
  reason_ = std::strerror(error);
  close();
  return {.state = State::closed};
}

Channel::Progress Channel::told_by_tls(Progress progress) {
  events_ = tls_->events();
  if (progress.state != State::closed) return progress;
  reason_ = tls_->reason();
  does_not_fit_ = tls_->does_not_fit();
  close();
  return progress;
}

// Unread bytes would make the system forget what it still has to send, so they are thrown away.
void Channel::close() {
  if (!socket_) return;
  tls_.reset();
  shutdown(socket_.get(), SHUT_WR);
  constexpr std::size_t kMany = 64 << 20;  // more than a socket holds
  recv(socket_.get(), nullptr, kMany, MSG_TRUNC | MSG_DONTWAIT);
  socket_ = Descriptor();
}

namespace {

// Calls `step`, which tells its state, until it is ready.
template <class Step>
bool finish(Channel& channel, ChannelDeadline until, Step step) {
  for (;;) {
    switch (step()) {
      case Channel::State::ready:
        return true;
      case Channel::State::closed:
        return false;
      case Channel::State::blocked:
        if (!wait_for_socket(channel.descriptor(), channel.events(), until)) return false;
    }
  }
}

}  // namespace

bool finish_handshake(Channel& channel, ChannelDeadline until) {
  return finish(channel, until, [&] { return channel.handshake(); });
}

bool read_all(Channel& channel, std::span<std::byte> bytes, ChannelDeadline until) {
  while (!bytes.empty()) {
    const bool more = finish(channel, until, [&] {
      const iovec part{bytes.data(), bytes.size()};
      const auto progress = channel.read({&part, 1});
      bytes = bytes.subspan(progress.bytes);
      return bytes.empty() ? Channel::State::ready : progress.state;
    });
    if (!more) return false;
  }
  return true;
}

bool write_all(Channel& channel, std::span<const std::byte> bytes, ChannelDeadline until) {
  while (!bytes.empty()) {
    const bool more = finish(channel, until, [&] {
      const iovec part{const_cast<std::byte*>(bytes.data()), bytes.size()};
      const auto progress = channel.write({&part, 1});
      bytes = bytes.subspan(progress.bytes);
      return bytes.empty() ? Channel::State::ready : progress.state;
    });
    if (!more) return false;
  }
  return true;
}

}  // namespace gradwire
