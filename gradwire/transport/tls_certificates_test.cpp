#include <filesystem>
#include <string>

#include "gradwire/core/error_test_support.h"
#include "gradwire/transport/certificates_test_support.h"
#include "gradwire/transport/tls_test_support.h"
#include "gtest/gtest.h"

namespace gradwire {
namespace {

class TlsCertificates : public testing::Test {
 protected:
  TlsCertificates()
      : directory_(std::filesystem::path(testing::TempDir()) /
                   ("gradwire_certificates_" + std::to_string(getpid()))),
        authority_(make_authority("our authority")) {}
  ~TlsCertificates() override { std::filesystem::remove_all(directory_); }

  SecurityOptions files_of(const CertificateWish& wish) { return files_of(wish, authority_); }
  SecurityOptions files_of(const CertificateWish& wish, const Certificate& issuer) {
    return write_certificates(directory_, wish.name, make_certificate(wish, &issuer), authority_);
  }

  const std::filesystem::path directory_;
  const Certificate authority_;
};

// What each end says after a handshake and a first message of each.
std::pair<std::string, std::string> talk(const SecurityOptions& one, const SecurityOptions& two) {
  ChannelPair pair = channel_pair(TlsContext::open(one), TlsContext::open(two));
  shake_hands(pair);
  char byte = 'x';
  const iovec part{&byte, 1};
  if (pair.connects) pair.connects.write({&part, 1});
  if (pair.accepts) pair.accepts.read({&part, 1});
  // The connecting end is done before the other one has looked at its certificate.
  if (pair.connects) pair.connects.read({&part, 1});
  return {pair.connects ? "talks" : pair.connects.reason(),
          pair.accepts ? "talks" : pair.accepts.reason()};
}

using Said = std::pair<std::string, std::string>;

TEST_F(TlsCertificates, OfOneAuthorityTalkWhateverTheirNames) {
  EXPECT_EQ(talk(files_of({.name = "node1"}), files_of({.name = "node2"})), Said("talks", "talks"));
}

TEST_F(TlsCertificates, OfAnotherAuthorityAreRefusedAndTold) {
  const Certificate foreign = make_authority("their authority");
  const auto [connects, accepts] =
      talk(files_of({.name = "foreign"}, foreign), files_of({.name = "node2"}));
  EXPECT_EQ(accepts, "the certificate of the other end is not signed by the authority of --tls-ca");
  EXPECT_EQ(connects,
            "the other end does not know the authority of this rank's certificate: give the same "
            "--tls-ca to all ranks");
  const auto turned = talk(files_of({.name = "node1"}), files_of({.name = "foreign"}, foreign));
  EXPECT_EQ(turned, Said(accepts, connects));
}

TEST_F(TlsCertificates, ThatHaveExpiredAreRefusedAndTold) {
  const SecurityOptions old =
      files_of({.name = "old", .valid_from_seconds = -7200, .valid_until_seconds = -3600});
  const auto [connects, accepts] = talk(old, files_of({.name = "node2"}));
  EXPECT_EQ(accepts, "the certificate of the other end has expired: issue a new one");
  EXPECT_EQ(connects,
            "the other end says that this rank's certificate has expired: issue a new one");
}

TEST_F(TlsCertificates, OfTheFutureAreRefused) {
  const auto [connects, accepts] =
      talk(files_of({.name = "early", .valid_from_seconds = 1800}), files_of({.name = "node2"}));
  EXPECT_NE(accepts.find("not valid yet"), std::string::npos) << accepts;
}

TEST_F(TlsCertificates, DoNotTalkToSecrets) {
  const SecurityOptions secret{.secret = secret_of(1)};
  const std::string both =
      "one end has a secret and the other one certificates: start all ranks with the same";
  EXPECT_EQ(talk(files_of({.name = "node1"}), secret), Said(both, both));
  EXPECT_EQ(talk(secret, files_of({.name = "node1"})), Said(both, both));
}

TEST_F(TlsCertificates, KeysThatOthersMayReadAreRefused) {
  const SecurityOptions options = files_of({.name = "node1"});
  chmod(options.key_file.c_str(), 0640);
  const std::string message = error_of([&] { TlsContext::open(options); });
  EXPECT_NE(message.find("chmod 600"), std::string::npos) << message;
}

TEST_F(TlsCertificates, ThatCannotBeUsedAreNamed) {
  SecurityOptions options = files_of({.name = "node1"});
  const SecurityOptions others = files_of({.name = "node2"});
  const std::string missing = directory_ / "missing";
  const auto message = [](SecurityOptions changed) {
    return error_of([&] { TlsContext::open(changed); });
  };
  for (std::string SecurityOptions::*file :
       {&SecurityOptions::certificate_file, &SecurityOptions::key_file,
        &SecurityOptions::authority_file}) {
    SecurityOptions changed = options;
    changed.*file = missing;
    EXPECT_NE(message(changed).find(missing), std::string::npos) << message(changed);
    changed.*file = "";
    EXPECT_NE(message(changed).find("three files"), std::string::npos) << message(changed);
  }
  options.key_file = others.key_file;
  EXPECT_NE(message(options).find("does not belong to the certificate"), std::string::npos)
      << message(options);
  options.key_file = others.certificate_file;
  EXPECT_NE(message(options).find("not a private key"), std::string::npos) << message(options);
}

}  // namespace
}  // namespace gradwire
