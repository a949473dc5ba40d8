// For tests: encrypted channels over pairs of sockets, with somebody in between who sees, keeps and
// changes the bytes.
#pragma once

#include <sys/socket.h>

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "gradwire/transport/channel.h"
#include "gradwire/transport/tls_context.h"

namespace gradwire {

using Security = std::shared_ptr<const TlsContext>;

inline Secret secret_of(unsigned char byte) {
  std::array<std::byte, Secret::kBytes> bytes;
  bytes.fill(std::byte{byte});
  return Secret(bytes);
}

inline Security security_of(unsigned char byte) {
  return std::make_shared<TlsContext>(secret_of(byte));
}

inline std::pair<Descriptor, Descriptor> socket_pair() {
  int sockets[2] = {-1, -1};
  socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, sockets);
  return {Descriptor(sockets[0]), Descriptor(sockets[1])};
}

struct ChannelPair {
  Channel connects;
  Channel accepts;
};

inline ChannelPair channel_pair(const Security& connects, const Security& accepts) {
  auto [one, two] = socket_pair();
  return {Channel(std::move(one), Channel::Role::connects, connects),
          Channel(std::move(two), Channel::Role::accepts, accepts)};
}

// Lets both ends take turns until both know how it ended.
inline void shake_hands(
    ChannelPair& pair, const std::function<void()>& between = [] {}) {
  using State = Channel::State;
  State one = State::blocked;
  State two = State::blocked;
  for (int turn = 0; turn < 100 && (one == State::blocked || two == State::blocked); ++turn) {
    if (one == State::blocked) one = pair.connects.handshake();
    between();
    if (two == State::blocked) two = pair.accepts.handshake();
    between();
  }
}

// All that has arrived at a socket.
inline std::string take_bytes(int socket) {
  std::string all;
  char bytes[4096];
  for (ssize_t count = 1; count > 0;) {
    count = recv(socket, bytes, sizeof(bytes), MSG_DONTWAIT);
    if (count > 0) all.append(bytes, static_cast<std::size_t>(count));
  }
  return all;
}

inline void put_bytes(int socket, std::string_view bytes) {
  send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

// Two ends whose bytes pass through the hands of a third.
class Tapped {
 public:
  Tapped(const Security& connects, const Security& accepts) {
    auto [one, near_one] = socket_pair();
    auto [near_two, two] = socket_pair();
    near_connects_ = std::move(near_one);
    near_accepts_ = std::move(near_two);
    pair = {Channel(std::move(one), Channel::Role::connects, connects),
            Channel(std::move(two), Channel::Role::accepts, accepts)};
  }

  void shake_hands() {
    gradwire::shake_hands(pair, [this] { pass_on(); });
  }

  // Passes on all bytes that are on their way, and keeps a copy.
  void pass_on() {
    const std::string there = take_bytes(near_connects_.get());
    put_bytes(near_accepts_.get(), there);
    of_connects += there;
    const std::string back = take_bytes(near_accepts_.get());
    put_bytes(near_connects_.get(), back);
    of_accepts += back;
  }

  // Bytes of the connecting end, which do not arrive.
  std::string intercept() { return take_bytes(near_connects_.get()); }
  void deliver(std::string_view bytes) { put_bytes(near_accepts_.get(), bytes); }

  ChannelPair pair;
  std::string of_connects;  // all that each end has sent
  std::string of_accepts;

 private:
  Descriptor near_connects_;
  Descriptor near_accepts_;
};

}  // namespace gradwire
