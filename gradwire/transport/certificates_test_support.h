// For tests: authorities and certificates, as PEM files in a directory.
#pragma once

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>

#include "gradwire/core/check.h"
#include "gradwire/transport/security.h"

namespace gradwire {

struct Certificate {
  std::shared_ptr<EVP_PKEY> key;
  std::shared_ptr<X509> certificate;
};

struct CertificateWish {
  std::string name;
  long valid_from_seconds = -3600;  // from now
  long valid_until_seconds = 3600;
  bool is_authority = false;
};

inline void add_extension(X509* certificate, X509* issuer, int which, const char* value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, which, value);
  GW_CHECK(extension != nullptr);
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

// Signed by the issuer; by itself if there is none.
inline Certificate make_certificate(const CertificateWish& wish, const Certificate* issuer) {
  Certificate made{{EVP_EC_gen("P-256"), EVP_PKEY_free}, {X509_new(), X509_free}};
  const Certificate& signer = issuer == nullptr ? made : *issuer;
  X509* certificate = made.certificate.get();
  X509_set_version(certificate, 2);
  static long serial = 1;
  ASN1_INTEGER_set(X509_get_serialNumber(certificate), serial++);
  X509_gmtime_adj(X509_getm_notBefore(certificate), wish.valid_from_seconds);
  X509_gmtime_adj(X509_getm_notAfter(certificate), wish.valid_until_seconds);
  X509_set_pubkey(certificate, made.key.get());
  X509_NAME* name = X509_get_subject_name(certificate);
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>(wish.name.c_str()), -1, -1, 0);
  X509_set_issuer_name(certificate, X509_get_subject_name(signer.certificate.get()));
  add_extension(certificate, signer.certificate.get(), NID_basic_constraints,
                wish.is_authority ? "critical,CA:TRUE" : "critical,CA:FALSE");
  GW_CHECK(X509_sign(certificate, signer.key.get(), EVP_sha256()) != 0);
  return made;
}

inline Certificate make_authority(const std::string& name) {
  return make_certificate({.name = name, .is_authority = true}, nullptr);
}

// Writes the files of one rank.
inline SecurityOptions write_certificates(const std::filesystem::path& directory,
                                          const std::string& name, const Certificate& own,
                                          const Certificate& authority) {
  std::filesystem::create_directories(directory);
  const SecurityOptions options{.certificate_file = directory / (name + ".crt"),
                                .key_file = directory / (name + ".key"),
                                .authority_file = directory / (name + ".ca")};
  const auto write = [](const std::string& path, const auto& content) {
    std::FILE* file = std::fopen(path.c_str(), "w");
    GW_CHECK(file != nullptr);
    chmod(path.c_str(), 0600);
    GW_CHECK(content(file) == 1);
    std::fclose(file);
  };
  write(options.certificate_file,
        [&](std::FILE* file) { return PEM_write_X509(file, own.certificate.get()); });
  write(options.key_file, [&](std::FILE* file) {
    return PEM_write_PrivateKey(file, own.key.get(), nullptr, nullptr, 0, nullptr, nullptr);
  });
  write(options.authority_file,
        [&](std::FILE* file) { return PEM_write_X509(file, authority.certificate.get()); });
  return options;
}

}  // namespace gradwire
