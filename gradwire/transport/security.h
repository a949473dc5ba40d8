// SecurityOptions: who may talk to this rank. Value type.
//
// With a secret, every connection is TLS 1.3 with the secret as a pre-shared key. With
// certificates, it is TLS 1.3 where both ends show a certificate of the given authority (CA). With
// neither, connections are not encrypted.
#pragma once

#include <optional>
#include <string>

#include "gradwire/transport/secret.h"

namespace gradwire {

struct SecurityOptions {
  std::optional<Secret> secret = {};
  std::string secret_file = {};  // or a file with it

  // Or all of these, as PEM files.
  std::string certificate_file = {};
  std::string key_file = {};
  std::string authority_file = {};

  bool is_encrypted() const {
    return secret || !secret_file.empty() || !certificate_file.empty() || !key_file.empty() ||
           !authority_file.empty();
  }
};

// Throws UsageError for options that contradict one another. Reads no file.
void check_security(const SecurityOptions& options);

}  // namespace gradwire
