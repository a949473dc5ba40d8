// TlsContext: the credentials of this rank, and the rules by which all of its connections are
// encrypted. Made once; connections on any thread use it.
//
// TLS 1.3 only, with a fresh key exchange (X25519 or P-256) in every handshake: a secret that leaks
// later does not open traffic that was recorded before. No session tickets and no early data, so
// nothing of one connection can be used on another.
#pragma once

#include <memory>

#include "gradwire/transport/security.h"

struct ssl_ctx_st;  // SSL_CTX of OpenSSL

namespace gradwire {

class TlsContext {
 public:
  enum class Credentials { secret, certificates };

  // Null if the options ask for no encryption. Throws UsageError and FileError.
  static std::shared_ptr<const TlsContext> open(const SecurityOptions& options);

  explicit TlsContext(const Secret& secret);
  // PEM files. Throws FileError.
  TlsContext(const std::string& certificate_file, const std::string& key_file,
             const std::string& authority_file);
  TlsContext(const TlsContext&) = delete;
  TlsContext& operator=(const TlsContext&) = delete;

  Credentials credentials() const {
    return secret_ ? Credentials::secret : Credentials::certificates;
  }
  ssl_ctx_st* get() const { return context_.get(); }

 private:
  struct Free {
    void operator()(ssl_ctx_st* context) const;
  };

  std::optional<Secret> secret_;
  std::unique_ptr<ssl_ctx_st, Free> context_;
};

}  // namespace gradwire
