// TlsSession: TLS 1.3 on one connected, non-blocking socket. Channel uses it in place of the
// socket's own reads and writes, and its calls have the meaning of Channel's. For one thread.
//
// Memory: nothing before the peer's first byte. Then OpenSSL takes its buffers: some tens of
// kilobytes for a handshake, and 17 KB to write and 128 KB to read for an established connection,
// all at its beginning. Reads and writes allocate nothing afterwards. OpenSSL 3.0 itself takes four
// small blocks for each record, at both ends together, and gives them back at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "gradwire/transport/channel.h"
#include "gradwire/transport/tls_context.h"
#include "gradwire/transport/tls_socket.h"

struct ssl_st;  // SSL of OpenSSL

namespace gradwire {

class TlsSession {
 public:
  // Payload of a full TLS record: header and beginning of a message share one.
  static constexpr std::size_t kRecordBytes = 16384;

  // The socket is the caller's and outlives it.
  TlsSession(std::shared_ptr<const TlsContext> context, int socket, Channel::Role role);
  ~TlsSession();
  TlsSession(const TlsSession&) = delete;
  TlsSession& operator=(const TlsSession&) = delete;

  Channel::State handshake();
  Channel::Progress read(std::span<const iovec> parts);
  // After `blocked`, the next call begins with the bytes that were not moved.
  Channel::Progress write(std::span<const iovec> parts);

  short events() const { return events_; }
  const std::string& reason() const { return reason_; }
  bool does_not_fit() const { return does_not_fit_; }

  // Records under one key, before the next one is derived from it. The default is RFC 8446's limit
  // for AES-GCM (section 5.5: 2^24.5), rounded down.
  void set_records_per_key(std::uint64_t records) { records_per_key_ = records; }

 private:
  struct Free {
    void operator()(ssl_st* connection) const;
  };

  Channel::State look_at_first_byte();
  bool start();
  bool is_trusted() const;
  Channel::State stop(int result);
  Channel::State stop_writing(int result);
  Channel::State fail(std::string reason);
  Channel::State refuse(std::string reason);
  bool renew_key_if_due();

  std::shared_ptr<const TlsContext> context_;
  const Channel::Role role_;
  TlsSocket socket_;
  std::unique_ptr<ssl_st, Free> connection_;
  bool is_established_ = false;
  bool is_closed_ = false;
  bool does_not_fit_ = false;
  short events_ = 0;
  std::string reason_;

  std::size_t pending_bytes_ = 0;  // of a record that is encrypted, but not all of it is sent
  std::uint64_t records_ = 0;      // written under the present key
  std::uint64_t records_per_key_ = std::uint64_t{1} << 24;
  std::vector<std::byte> gathered_;  // parts that share a record; from the handshake's end on
};

}  // namespace gradwire
