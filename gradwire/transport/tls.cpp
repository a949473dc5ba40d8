#include "gradwire/transport/tls.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "gradwire/core/check.h"
#include "gradwire/transport/tls_reason.h"

namespace gradwire {
namespace {

using State = Channel::State;
using Progress = Channel::Progress;

// One recv() takes so many bytes of an established connection: several records, which fit in the
// cache of a core until they are decrypted.
constexpr std::size_t kReadBytes = std::size_t{128} << 10;

// A place in the parts of a write.
class Cursor {
 public:
  explicit Cursor(std::span<const iovec> parts) : parts_(parts) {
    for (const iovec& part : parts) left_ += part.iov_len;
  }

  std::size_t left() const { return left_; }

  // The next bytes as one piece: where they lie if they do, otherwise copied to `memory`.
  std::span<const std::byte> next(std::size_t bytes, std::span<std::byte> memory) const {
    std::size_t part = part_;
    std::size_t offset = offset_;
    while (offset == parts_[part].iov_len) ++part, offset = 0;
    const auto* first = static_cast<const std::byte*>(parts_[part].iov_base) + offset;
    if (parts_[part].iov_len - offset >= bytes) return {first, bytes};
    for (std::size_t filled = 0; filled < bytes; ++part, offset = 0) {
      const std::size_t taken = std::min(bytes - filled, parts_[part].iov_len - offset);
      if (taken == 0) continue;
      std::memcpy(memory.data() + filled,
                  static_cast<const std::byte*>(parts_[part].iov_base) + offset, taken);
      filled += taken;
    }
    return memory.first(bytes);
  }

  void advance(std::size_t bytes) {
    left_ -= bytes;
    while (bytes > 0) {
      const std::size_t taken = std::min(bytes, parts_[part_].iov_len - offset_);
      offset_ += taken;
      bytes -= taken;
      if (offset_ == parts_[part_].iov_len) ++part_, offset_ = 0;
    }
  }

 private:
  std::span<const iovec> parts_;
  std::size_t part_ = 0;
  std::size_t offset_ = 0;
  std::size_t left_ = 0;
};

}  // namespace

void TlsSession::Free::operator()(ssl_st* connection) const { SSL_free(connection); }

TlsSession::TlsSession(std::shared_ptr<const TlsContext> context, int socket, Channel::Role role)
    : context_(std::move(context)), role_(role), socket_{.socket = socket} {}

TlsSession::~TlsSession() = default;

// --- Handshake -----------------------------------------------------------------------------------

State TlsSession::handshake() {
  if (is_closed_) return State::closed;
  if (is_established_) return State::ready;
  if (!connection_) {
    if (const State state = look_at_first_byte(); state != State::ready) return state;
    if (!start()) return fail("there is no memory for an encrypted connection");
  }
  ERR_clear_error();
  const int result = SSL_do_handshake(connection_.get());
  if (result != 1) return stop(result);
  if (!is_trusted()) return refuse("the other end has not shown that it has the secret");
  is_established_ = true;
  gathered_.resize(kRecordBytes);
  // Until here records were read one by one, so nothing is lost with the small buffer.
  SSL_set_read_ahead(connection_.get(), 1);
  SSL_set_default_read_buffer_len(connection_.get(), kReadBytes);
  SSL_free_buffers(connection_.get());
  SSL_alloc_buffers(connection_.get());
  return State::ready;
}

// A stranger that sends nothing, or no TLS, costs no memory.
State TlsSession::look_at_first_byte() {
  if (role_ == Channel::Role::connects) return State::ready;
  events_ = POLLIN;
  std::byte first{};
  const ssize_t count = recv(socket_.socket, &first, 1, MSG_PEEK | MSG_DONTWAIT);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return State::blocked;
  if (count < 0) return fail(std::strerror(errno));
  if (count == 0) return fail("");
  if (looks_like_tls({&first, 1})) return State::ready;
  send(socket_.socket, kSpeakTlsAlert.data(), kSpeakTlsAlert.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  return refuse(kPeerIsPlain);
}

bool TlsSession::start() {
  connection_.reset(SSL_new(context_->get()));
  BIO* bio = connection_ ? make_bio(socket_) : nullptr;
  if (bio == nullptr) return false;
  SSL_set_bio(connection_.get(), bio, bio);
  if (role_ == Channel::Role::connects) {
    SSL_set_connect_state(connection_.get());
  } else {
    SSL_set_accept_state(connection_.get());
  }
  return true;
}

// OpenSSL has refused everything else already. This must not depend on its settings alone.
bool TlsSession::is_trusted() const {
  if (SSL_version(connection_.get()) != TLS1_3_VERSION) return false;
  if (context_->credentials() == TlsContext::Credentials::secret) {
    return SSL_session_reused(connection_.get()) == 1;  // the pre-shared key was used
  }
  return SSL_get0_peer_certificate(connection_.get()) != nullptr &&
         SSL_get_verify_result(connection_.get()) == X509_V_OK;
}

// Why a call of OpenSSL did not succeed.
State TlsSession::stop(int result) {
  switch (SSL_get_error(connection_.get(), result)) {
    case SSL_ERROR_WANT_READ:
      events_ = POLLIN;
      return State::blocked;
    case SSL_ERROR_WANT_WRITE:
      events_ = POLLOUT;
      return State::blocked;
    case SSL_ERROR_ZERO_RETURN:
      return fail("");
    case SSL_ERROR_SYSCALL:
      return fail(socket_.error == 0 ? "" : std::strerror(socket_.error));
    default:
      return refuse(take_tls_reason(connection_.get(), context_->credentials()));
  }
}

State TlsSession::refuse(std::string reason) {
  does_not_fit_ = true;
  return fail(std::move(reason));
}

State TlsSession::fail(std::string reason) {
  ERR_clear_error();
  is_closed_ = true;
  reason_ = std::move(reason);
  connection_.reset();
  return State::closed;
}

// --- Bytes ---------------------------------------------------------------------------------------

Progress TlsSession::read(std::span<const iovec> parts) {
  if (is_closed_) return {.state = State::closed};
  GW_CHECK(is_established_);
  std::size_t moved = 0;
  for (const iovec& part : parts) {
    for (std::size_t filled = 0; filled < part.iov_len;) {
      std::size_t bytes = 0;
      ERR_clear_error();
      const int result =
          SSL_read_ex(connection_.get(), static_cast<std::byte*>(part.iov_base) + filled,
                      part.iov_len - filled, &bytes);
      if (result != 1) return {moved, stop(result)};
      filled += bytes;
      moved += bytes;
    }
  }
  return {moved, State::ready};
}

Progress TlsSession::write(std::span<const iovec> parts) {
  if (is_closed_) return {.state = State::closed};
  GW_CHECK(is_established_);
  std::size_t moved = 0;
  for (Cursor cursor(parts); cursor.left() > 0;) {
    // OpenSSL wants a record again that it could not send at once.
    GW_CHECK(pending_bytes_ <= cursor.left());
    const std::size_t bytes =
        pending_bytes_ > 0 ? pending_bytes_ : std::min(kRecordBytes, cursor.left());
    if (pending_bytes_ == 0 && !renew_key_if_due()) {
      return {moved, fail("the encrypted connection cannot change its key")};
    }
    socket_.more_follows = bytes < cursor.left();
    std::size_t written = 0;
    ERR_clear_error();
    const int result =
        SSL_write_ex(connection_.get(), cursor.next(bytes, gathered_).data(), bytes, &written);
    if (result != 1) {
      pending_bytes_ = bytes;
      return {moved, stop_writing(result)};
    }
    pending_bytes_ = 0;
    ++records_;
    cursor.advance(written);
    moved += written;
  }
  return {moved, State::ready};
}

// A peer that takes no more bytes may have said why, by an alert that is not read yet.
State TlsSession::stop_writing(int result) {
  if (SSL_get_error(connection_.get(), result) != SSL_ERROR_SYSCALL) return stop(result);
  const std::string reason = std::strerror(socket_.error);
  std::byte none{};
  std::size_t bytes = 0;
  ERR_clear_error();
  const int read = SSL_read_ex(connection_.get(), &none, 1, &bytes);
  const bool is_told = read != 1 && SSL_get_error(connection_.get(), read) == SSL_ERROR_SSL;
  return is_told ? stop(read) : fail(reason);
}

bool TlsSession::renew_key_if_due() {
  if (records_ < records_per_key_) return true;
  records_ = 0;
  return SSL_key_update(connection_.get(), SSL_KEY_UPDATE_NOT_REQUESTED) == 1;
}

}  // namespace gradwire
