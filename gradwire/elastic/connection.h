// Connection: packets to and from one other process, over one socket that does not block. For one
// thread.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "gradwire/elastic/packet.h"
#include "gradwire/membership/view.h"
#include "gradwire/transport/channel.h"

namespace gradwire::elastic {

class Connection {
 public:
  // The channel's handshake and hello are done.
  Connection(Channel channel, Channel::Role role) : channel_(std::move(channel)), role_(role) {}

  // Queues a packet's bytes; write() sends them. Not after end_writing().
  void send(Bytes bytes);

  // Nothing more is sent. The other end gets all that was written before, and then the end: it
  // would lose some of it if the socket were closed with bytes in it that nobody has read.
  void end_writing();

  // Writes as much as the socket takes. False: it is closed.
  bool write();

  // Reads what is there and calls take(packet) for each whole packet, until take returns false.
  // Returns false if the connection is closed or the bytes are no packets; then reason() says why.
  template <class Take>
  bool read(const Take& take) {
    for (;;) {
      const bool is_open = fill();
      while (std::optional<Packet> packet = next_packet()) {
        if (!take(std::move(*packet))) return true;
      }
      if (!reason_.empty()) return false;
      if (!is_open) return false;
      if (is_blocked_) return true;
    }
  }

  int descriptor() const { return channel_.descriptor(); }
  // For poll().
  short events() const;
  bool has_unsent() const { return !out_.empty(); }
  std::size_t unsent_bytes() const { return unsent_bytes_; }
  const std::string& reason() const { return reason_; }
  Channel::Role role() const { return role_; }

  // Who is at the other end; nothing until it has said so.
  std::optional<membership::Member> peer;

 private:
  bool fill();
  std::optional<Packet> next_packet();

  Channel channel_;
  Channel::Role role_;
  bool has_ended_ = false;
  std::deque<Bytes> out_;
  std::size_t out_at_ = 0;  // in the first
  std::size_t unsent_bytes_ = 0;
  Bytes in_;
  std::size_t in_end_ = 0;  // bytes that came
  std::size_t in_at_ = 0;   // bytes that were taken
  bool is_blocked_ = false;
  std::string reason_;
};

}  // namespace gradwire::elastic
