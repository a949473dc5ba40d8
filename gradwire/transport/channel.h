// One connected, non-blocking stream socket between two processes. All bytes of the transport go
// through it: those of the rendezvous, the hello and the records of messages. For one thread.
//
// handshake() comes first and is called until it is `ready`. A plain socket is ready at once; an
// encrypted one proves who is at the other end. Nothing here blocks. After `blocked`, wait for
// events() with poll() and call again. With edge-triggered epoll, call until `blocked`.
#pragma once

#include <poll.h>
#include <sys/uio.h>

#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "gradwire/transport/descriptor.h"

namespace gradwire {

class TlsContext;
class TlsSession;

class Channel {
 public:
  // Who has opened the connection: this end, or the other one.
  enum class Role { connects, accepts };

  enum class State {
    ready,    // it may go on at once
    blocked,  // not before the socket has one of events()
    closed,   // for good; reason() says why
  };

  struct Progress {
    std::size_t bytes = 0;  // moved by this call, whatever the state is
    State state = State::blocked;
  };

  Channel();
  // With `security` it is encrypted.
  Channel(Descriptor socket, Role role, std::shared_ptr<const TlsContext> security = nullptr);
  ~Channel();
  Channel(Channel&&) noexcept;
  Channel& operator=(Channel&&) noexcept;

  // False after close() and for a channel that never had a socket.
  explicit operator bool() const { return static_cast<bool>(socket_); }
  int descriptor() const { return socket_.get(); }

  State handshake();

  // Moves as many bytes as the socket takes or has, in the order of the parts. A read that was
  // `blocked` after some bytes may have the end of the stream behind them.
  Progress read(std::span<const iovec> parts);
  Progress write(std::span<const iovec> parts);

  // The events of poll() that end `blocked`.
  short events() const { return events_; }

  // Why it is closed: a sentence, or the system's words. Empty: the other end has closed it, or
  // this one.
  const std::string& reason() const { return reason_; }

  // The two ends cannot talk: their secrets differ, for example. A new connection would not help.
  bool does_not_fit() const { return does_not_fit_; }

  // What was written still goes out.
  void close();

 private:
  Progress fail(int error);
  Progress told_by_tls(Progress progress);

  Descriptor socket_;
  std::unique_ptr<TlsSession> tls_;  // if it is encrypted
  short events_ = POLLIN;
  std::string reason_;
  bool does_not_fit_ = false;
};

// Blocking forms with a deadline. False: the channel is closed, or the time is over.
using ChannelDeadline = std::chrono::steady_clock::time_point;
bool finish_handshake(Channel& channel, ChannelDeadline until);
bool read_all(Channel& channel, std::span<std::byte> bytes, ChannelDeadline until);
bool write_all(Channel& channel, std::span<const std::byte> bytes, ChannelDeadline until);

}  // namespace gradwire
