// The socket below a TLS connection, as OpenSSL sees it (a BIO). OpenSSL's own would be ended by
// SIGPIPE, and would hand small pieces to TCP.
#pragma once

#include <openssl/bio.h>

namespace gradwire {

struct TlsSocket {
  int socket = -1;
  bool more_follows = false;  // the next bytes come at once: TCP may wait for them
  bool is_at_end = false;     // the peer has closed it
  int error = 0;              // of the socket, in errno's numbers
};

// Null: no memory. `socket` outlives it.
BIO* make_bio(TlsSocket& socket);

}  // namespace gradwire
