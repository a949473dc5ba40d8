// One connection to a peer: writes records from the memory of their senders, and reads records into
// the memory of their receivers, without blocking and without allocating. For one thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "gradwire/transport/channel.h"
#include "gradwire/transport/intrusive_queue.h"
#include "gradwire/transport/scattered.h"
#include "gradwire/transport/tcp_record.h"

namespace gradwire {

// A record on its way out. Its owner keeps it alive while it is queued.
struct TcpOutgoing {
  TcpRecord::Bytes header{};
  MessageToSend payload = {};
  std::size_t sent = 0;  // of header and payload together
  bool is_queued = false;
  TcpOutgoing* next = nullptr;  // in the queue

  std::size_t total() const { return header.size() + payload.bytes(); }
};

// A message on its way in.
struct TcpIncoming {
  MessageRoom memory = {};  // not shorter than the message
  std::size_t bytes = 0;    // of the message
  std::size_t received = 0;
};

// What a link asks of its owner while it reads.
class TcpRecords {
 public:
  // A `data` header has come: where its message goes. Null refuses it, for the reason that is set.
  virtual TcpIncoming* on_data(const TcpRecord& record, const char*& refusal) = 0;
  // The last byte of that message has come.
  virtual void on_message(TcpIncoming& message) = 0;
  // False refuses it.
  virtual bool on_ready(const TcpRecord& record) = 0;

 protected:
  ~TcpRecords() = default;
};

class TcpLink {
 public:
  explicit TcpLink(Channel channel) : channel_(std::move(channel)) {}

  int descriptor() const { return channel_.descriptor(); }

  // Sends it behind all others; flush() begins.
  void queue(TcpOutgoing& record);

  // Writes until everything has gone out or the connection takes no more.
  void flush();

  // Reads until there is nothing more to read, or for long enough that other links should have
  // their turn: then it returns true.
  bool read(TcpRecords& records);

  // The peer has ended its side: the next read() goes on until the end of the stream.
  void expect_end() { is_ending_ = true; }

  // Grows with every record that has gone out, every message that has come in, and at the end.
  std::uint64_t changes() const { return changes_; }

  bool is_broken() const { return is_broken_; }
  // Why, in the system's words; may be empty: the peer has closed it.
  const std::string& reason() const { return reason_; }
  void close(const std::string& reason = {});

 private:
  void count_sent(std::size_t bytes);
  void take(std::size_t bytes, TcpRecords& records);
  bool begin_record(std::span<const std::byte> header, TcpRecords& records);
  void end_message_if_whole(TcpRecords& records);

  Channel channel_;
  IntrusiveQueue<TcpOutgoing> queue_;
  TcpIncoming* incoming_ = nullptr;
  // Behind the message that is being read: headers, and the beginnings of short messages. So a
  // short message costs one call, and of a long one only its beginning is copied.
  std::array<std::byte, 4096> staged_{};
  std::size_t staged_bytes_ = 0;
  std::uint64_t changes_ = 0;
  bool is_ending_ = false;
  bool is_broken_ = false;
  std::string reason_;
};

}  // namespace gradwire
