#include "gradwire/transport/security.h"

#include "gradwire/core/usage_error.h"

namespace gradwire {

void check_security(const SecurityOptions& options) {
  const bool has_secret = options.secret || !options.secret_file.empty();
  const int files = int{!options.certificate_file.empty()} + int{!options.key_file.empty()} +
                    int{!options.authority_file.empty()};
  if (options.secret && !options.secret_file.empty()) {
    throw UsageError("the secret is given as bytes and as a file: give one of them");
  }
  if (has_secret && files > 0) {
    throw UsageError("there is a secret, and there are certificates: give one of them");
  }
  if (files == 1 || files == 2) {
    const auto said = [](const std::string& file) {
      return file.empty() ? "is missing" : "is given";
    };
    throw UsageError(std::string("TLS with certificates takes three files: the certificate (") +
                     "--tls-cert) " + said(options.certificate_file) + ", its key (--tls-key) " +
                     said(options.key_file) + ", the authority's certificate (--tls-ca) " +
                     said(options.authority_file));
  }
}

}  // namespace gradwire
