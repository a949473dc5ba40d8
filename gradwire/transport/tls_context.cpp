#include "gradwire/transport/tls_context.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <string_view>

#include "gradwire/core/error.h"
#include "gradwire/transport/private_file.h"

namespace gradwire {
namespace {

// The name of the pre-shared key in a handshake. All runs have the same: it tells a stranger
// nothing.
constexpr std::string_view kIdentity = "gradwire-secret-1";

// AES-128 has the strength of the key exchange (X25519, 128 bits), with 10 rounds instead of the 14
// of AES-256.
constexpr const char* kCipherSuite = "TLS_AES_128_GCM_SHA256";
constexpr unsigned char kCipherSuiteNumber[2] = {0x13, 0x01};

// OpenSSL asks for a name of sessions where certificates are asked for, although none is kept.
constexpr unsigned char kSessions[] = {'g', 'w'};

[[noreturn]] void fail_inside(const char* what) {
  throw Error(std::string("OpenSSL cannot ") + what + ": is its configuration file broken?");
}

// A new one for each connection, since OpenSSL writes to it. Null: no memory.
SSL_SESSION* session_of(const Secret& secret, SSL* connection) {
  SSL_SESSION* session = SSL_SESSION_new();
  if (session == nullptr) return nullptr;
  const SSL_CIPHER* cipher = SSL_CIPHER_find(connection, kCipherSuiteNumber);
  const auto* key = reinterpret_cast<const unsigned char*>(secret.bytes().data());
  if (cipher == nullptr || SSL_SESSION_set1_master_key(session, key, Secret::kBytes) != 1 ||
      SSL_SESSION_set_cipher(session, cipher) != 1 ||
      SSL_SESSION_set_protocol_version(session, TLS1_3_VERSION) != 1 ||
      SSL_SESSION_set1_id_context(session, kSessions, sizeof(kSessions)) != 1) {
    SSL_SESSION_free(session);
    return nullptr;
  }
  return session;
}

const Secret& secret_of(SSL* connection) {
  return *static_cast<const Secret*>(SSL_CTX_get_app_data(SSL_get_SSL_CTX(connection)));
}

// The connecting end shows that it has the secret. `hash` is the one that the peer insists on.
int show_secret(SSL* connection, const EVP_MD* hash, const unsigned char** identity,
                std::size_t* identity_bytes, SSL_SESSION** session) {
  if (hash != nullptr && EVP_MD_is_a(hash, "SHA256") == 0) return 0;
  *session = session_of(secret_of(connection), connection);
  *identity = reinterpret_cast<const unsigned char*>(kIdentity.data());
  *identity_bytes = kIdentity.size();
  return *session != nullptr ? 1 : 0;
}

// The accepting end finds the secret that the peer has named; OpenSSL then checks that the peer has
// it.
int find_secret(SSL* connection, const unsigned char* identity, std::size_t identity_bytes,
                SSL_SESSION** session) {
  *session = nullptr;
  const std::string_view named(reinterpret_cast<const char*>(identity), identity_bytes);
  if (named != kIdentity) return 1;  // none: the handshake fails
  *session = session_of(secret_of(connection), connection);
  return *session != nullptr ? 1 : 0;
}

// With a secret no certificate is acceptable. The alert differs from that of a wrong certificate.
int refuse_certificate(X509_STORE_CTX* certificate, void*) {
  X509_STORE_CTX_set_error(certificate, X509_V_ERR_APPLICATION_VERIFICATION);
  return 0;
}

ssl_ctx_st* make_context() {
  SSL_CTX* context = SSL_CTX_new(TLS_method());
  if (context == nullptr) fail_inside("start");
  const bool is_set = SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) == 1 &&
                      SSL_CTX_set_max_proto_version(context, TLS1_3_VERSION) == 1 &&
                      SSL_CTX_set_ciphersuites(context, kCipherSuite) == 1 &&
                      SSL_CTX_set1_groups_list(context, "X25519:P-256") == 1 &&
                      SSL_CTX_set_num_tickets(context, 0) == 1 &&
                      SSL_CTX_set_session_id_context(context, kSessions, sizeof(kSessions)) == 1;
  if (!is_set) {
    SSL_CTX_free(context);
    fail_inside("use TLS 1.3");
  }
  // A connection that ends without a farewell is a lost peer like any other: leaving is a message
  // of its own, above TLS.
  SSL_CTX_set_options(context, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                                   SSL_OP_IGNORE_UNEXPECTED_EOF);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                SSL_MODE_AUTO_RETRY);
  // Certificates are asked for and checked at both ends.
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  return context;
}

// --- Files of certificates -----------------------------------------------------------------------

// OpenSSL's last reason, without the file names and numbers around it. It never quotes a file.
std::string last_reason() {
  const char* reason = ERR_reason_error_string(ERR_peek_last_error());
  ERR_clear_error();
  return reason == nullptr ? "it is no PEM file" : reason;
}

[[noreturn]] void fail(const std::string& path, const std::string& what) {
  throw FileError(path + ": " + what);
}

std::string refused(const char* what) { return std::string(what) + ": " + last_reason(); }

// A key with a password would ask for it on the terminal.
int no_password(char*, int, int, void*) { return -1; }

void use_key(SSL_CTX* context, const std::string& path) {
  const Descriptor file = open_private_file(path, "the private key");
  const std::unique_ptr<BIO, decltype(&BIO_free)> input(BIO_new_fd(file.get(), BIO_NOCLOSE),
                                                        BIO_free);
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(
      PEM_read_bio_PrivateKey(input.get(), nullptr, no_password, nullptr), EVP_PKEY_free);
  if (!key) fail(path, refused("this is not a private key without a password"));
  if (SSL_CTX_use_PrivateKey(context, key.get()) != 1) {
    fail(path, refused("the private key does not belong to the certificate"));
  }
}

}  // namespace

void TlsContext::Free::operator()(ssl_ctx_st* context) const { SSL_CTX_free(context); }

TlsContext::TlsContext(const Secret& secret) : secret_(secret), context_(make_context()) {
  SSL_CTX_set_app_data(context_.get(), &*secret_);
  SSL_CTX_set_cert_verify_callback(context_.get(), refuse_certificate, nullptr);
  SSL_CTX_set_psk_use_session_callback(context_.get(), show_secret);
  SSL_CTX_set_psk_find_session_callback(context_.get(), find_secret);
}

TlsContext::TlsContext(const std::string& certificate_file, const std::string& key_file,
                       const std::string& authority_file)
    : context_(make_context()) {
  ERR_clear_error();
  if (SSL_CTX_use_certificate_chain_file(context_.get(), certificate_file.c_str()) != 1) {
    fail(certificate_file, refused("the certificate cannot be used"));
  }
  use_key(context_.get(), key_file);
  if (SSL_CTX_load_verify_file(context_.get(), authority_file.c_str()) != 1) {
    fail(authority_file, refused("the authority's certificate cannot be used"));
  }
}

std::shared_ptr<const TlsContext> TlsContext::open(const SecurityOptions& options) {
  check_security(options);
  if (options.secret) return std::make_shared<TlsContext>(*options.secret);
  if (!options.secret_file.empty()) {
    return std::make_shared<TlsContext>(read_secret_file(options.secret_file));
  }
  if (options.certificate_file.empty()) return nullptr;
  return std::make_shared<TlsContext>(options.certificate_file, options.key_file,
                                      options.authority_file);
}

}  // namespace gradwire
