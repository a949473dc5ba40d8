#include "gradwire/transport/tls_socket.h"

#include <sys/socket.h>

#include <cerrno>

namespace gradwire {
namespace {

TlsSocket& socket_of(BIO* bio) { return *static_cast<TlsSocket*>(BIO_get_data(bio)); }

bool is_not_yet(int error) { return error == EAGAIN || error == EWOULDBLOCK; }

int write_bytes(BIO* bio, const char* bytes, std::size_t count, std::size_t* written) {
  TlsSocket& socket = socket_of(bio);
  BIO_clear_retry_flags(bio);
  const int flags = MSG_DONTWAIT | MSG_NOSIGNAL | (socket.more_follows ? MSG_MORE : 0);
  ssize_t sent = 0;
  do {
    sent = send(socket.socket, bytes, count, flags);
  } while (sent < 0 && errno == EINTR);
  if (sent < 0) {
    if (is_not_yet(errno)) {
      BIO_set_retry_write(bio);
    } else {
      socket.error = errno;
    }
    return 0;
  }
  *written = static_cast<std::size_t>(sent);
  return 1;
}

int read_bytes(BIO* bio, char* bytes, std::size_t count, std::size_t* read) {
  TlsSocket& socket = socket_of(bio);
  BIO_clear_retry_flags(bio);
  ssize_t received = 0;
  do {
    received = recv(socket.socket, bytes, count, MSG_DONTWAIT);
  } while (received < 0 && errno == EINTR);
  if (received > 0) {
    *read = static_cast<std::size_t>(received);
    return 1;
  }
  if (received == 0) {
    socket.is_at_end = true;
  } else if (is_not_yet(errno)) {
    BIO_set_retry_read(bio);
  } else {
    socket.error = errno;
  }
  return 0;
}

long control(BIO* bio, int command, long, void*) {
  if (command == BIO_CTRL_FLUSH) return 1;  // nothing is kept here
  if (command == BIO_CTRL_EOF) return socket_of(bio).is_at_end ? 1 : 0;
  return 0;
}

BIO_METHOD* make_method() {
  BIO_METHOD* method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "gradwire socket");
  if (method == nullptr) return nullptr;
  BIO_meth_set_write_ex(method, write_bytes);
  BIO_meth_set_read_ex(method, read_bytes);
  BIO_meth_set_ctrl(method, control);
  return method;
}

}  // namespace

BIO* make_bio(TlsSocket& socket) {
  static BIO_METHOD* const method = make_method();  // for all connections, as long as the program
  BIO* bio = method == nullptr ? nullptr : BIO_new(method);
  if (bio == nullptr) return nullptr;
  BIO_set_data(bio, &socket);
  BIO_set_init(bio, 1);
  return bio;
}

}  // namespace gradwire
