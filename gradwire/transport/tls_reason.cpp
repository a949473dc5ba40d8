#include "gradwire/transport/tls_reason.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>

namespace gradwire {
namespace {

constexpr const char* kSecretsDiffer =
    "the other end has another secret: give the same secret file to all ranks";
constexpr const char* kCredentialsDiffer =
    "one end has a secret and the other one certificates: start all ranks with the same";

// The certificate of the other end was refused here.
std::string refused_certificate(const SSL* connection) {
  const long result = SSL_get_verify_result(connection);
  switch (result) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return "the certificate of the other end has expired: issue a new one";
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return "the certificate of the other end is not valid yet: compare the clocks of the hosts";
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_CERT_SIGNATURE_FAILURE:
      return "the certificate of the other end is not signed by the authority of --tls-ca";
    case X509_V_ERR_INVALID_PURPOSE:
      return "the certificate of the other end is not for clients and servers: issue it for both, "
             "since every rank is both";
    default:
      return std::string("the certificate of the other end is refused: ") +
             X509_verify_cert_error_string(result);
  }
}

// OpenSSL's numbers of alerts of the other end are 1000 and the alert's own number.
constexpr int kAlert = SSL_AD_REASON_OFFSET;

// Empty: there is none for this reason.
std::string sentence(int reason, const SSL* connection, TlsContext::Credentials credentials) {
  const bool has_secret = credentials == TlsContext::Credentials::secret;
  switch (reason) {
    case SSL_R_BINDER_DOES_NOT_VERIFY:
    case kAlert + SSL_AD_ILLEGAL_PARAMETER:
    case kAlert + SSL_AD_DECRYPT_ERROR:
      return has_secret ? kSecretsDiffer : kCredentialsDiffer;
    case SSL_R_CERTIFICATE_VERIFY_FAILED:
      return has_secret ? kCredentialsDiffer : refused_certificate(connection);
    case SSL_R_NO_SHARED_CIPHER:
    case SSL_R_NO_SUITABLE_SIGNATURE_ALGORITHM:
    case SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE:
    case kAlert + SSL_AD_HANDSHAKE_FAILURE:
    case kAlert + SSL_AD_CERTIFICATE_REQUIRED:
      return kCredentialsDiffer;
    case kAlert + SSL_AD_INSUFFICIENT_SECURITY:
    case SSL_R_WRONG_VERSION_NUMBER:
    case SSL_R_HTTP_REQUEST:
    case SSL_R_HTTPS_PROXY_REQUEST:
      return kPeerIsPlain;
    case kAlert + SSL_AD_UNKNOWN_CA:
      return has_secret ? kCredentialsDiffer
                        : "the other end does not know the authority of this rank's certificate: "
                          "give the same --tls-ca to all ranks";
    case kAlert + SSL_AD_CERTIFICATE_EXPIRED:
      return "the other end says that this rank's certificate has expired: issue a new one";
    case kAlert + SSL_AD_BAD_CERTIFICATE:
    case kAlert + SSL_AD_UNSUPPORTED_CERTIFICATE:
    case kAlert + SSL_AD_CERTIFICATE_UNKNOWN:
    case kAlert + SSL_AD_CERTIFICATE_REVOKED:
      return "the other end refuses this rank's certificate: its own message says why";
    case SSL_R_UNSUPPORTED_PROTOCOL:
    case kAlert + SSL_AD_PROTOCOL_VERSION:
      return "the other end does not speak TLS 1.3, so it is not a rank of gradwire";
    case SSL_R_DECRYPTION_FAILED_OR_BAD_RECORD_MAC:
    case kAlert + SSL_AD_BAD_RECORD_MAC:
      return "encrypted bytes were changed on their way";
    default:
      return "";
  }
}

}  // namespace

std::string take_tls_reason(const ssl_st* connection, TlsContext::Credentials credentials) {
  const unsigned long error = ERR_get_error();
  ERR_clear_error();
  if (ERR_GET_LIB(error) == ERR_LIB_SSL) {
    const std::string known = sentence(ERR_GET_REASON(error), connection, credentials);
    if (!known.empty()) return known;
  }
  const char* text = ERR_reason_error_string(error);
  return std::string("the encrypted connection failed: ") +
         (text == nullptr ? "the bytes are no TLS 1.3 of gradwire" : text);
}

bool looks_like_tls(std::span<const std::byte> bytes) {
  constexpr std::byte kHandshake{22};
  constexpr std::byte kAlertRecord{21};
  constexpr std::byte kVersion{3};
  if (bytes.empty() || (bytes[0] != kHandshake && bytes[0] != kAlertRecord)) return false;
  return bytes.size() < 2 || bytes[1] == kVersion;
}

bool refuse_tls(Channel& channel, std::span<const std::byte> first) {
  if (!looks_like_tls(first)) return false;
  write_all(channel, std::as_bytes(std::span(kSpeakPlainAlert)), {});  // it has room for that
  return true;
}

}  // namespace gradwire
