#include "gradwire/transport/secret.h"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "gradwire/core/error_test_support.h"
#include "gradwire/transport/security.h"
#include "gtest/gtest.h"

namespace gradwire {
namespace {

const std::string kDigits = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";
const std::string kText = "gradwire-secret-1 " + kDigits;

class SecretFile : public testing::Test {
 protected:
  SecretFile() : path_(testing::TempDir() + "gradwire_secret_" + std::to_string(getpid())) {
    std::filesystem::remove(path_);
  }
  ~SecretFile() override { std::filesystem::remove(path_); }

  void write(const std::string& text, mode_t mode = 0600) {
    std::ofstream(path_) << text;
    chmod(path_.c_str(), mode);
  }
  std::string text() {
    std::ifstream file(path_);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::string reading_error() {
    return error_of([&] { read_secret_file(path_); });
  }

  const std::string path_;
};

bool is_same(const Secret& a, const Secret& b) { return std::ranges::equal(a.bytes(), b.bytes()); }

TEST(Secret, IsOneLineOfText) {
  const auto secret = parse_secret(kText + "\n");
  ASSERT_TRUE(secret);
  for (std::size_t i = 0; i < Secret::kBytes; ++i) {
    EXPECT_EQ(secret->bytes()[i], static_cast<std::byte>(i));
  }
  EXPECT_TRUE(parse_secret(kText));
}

TEST(Secret, OtherTextIsRefused) {
  const std::string others[] = {"",
                                "\n",
                                kDigits,
                                "gradwire-secret-2 " + kDigits,
                                " " + kText,
                                kText + " ",
                                kText + "\n\n",
                                kText + "\r\n",
                                kText + "00",
                                kText.substr(0, kText.size() - 1),
                                "gradwire-secret-1 ",
                                "gradwire-secret-1 " + std::string(64, 'g'),
                                "gradwire-secret-1 " + std::string(64, 'A')};
  for (const std::string& other : others) EXPECT_FALSE(parse_secret(other)) << other;
}

TEST(Secret, HasThirtyTwoBytes) {
  const std::array<std::byte, 16> few{};
  const std::string message = error_of([&] { Secret{few}; });
  EXPECT_NE(message.find("16 bytes"), std::string::npos) << message;
  EXPECT_NE(message.find("32"), std::string::npos) << message;
}

TEST(Secret, IsAnotherOneEachTime) { EXPECT_FALSE(is_same(Secret::random(), Secret::random())); }

TEST_F(SecretFile, IsMadeForItsOwnerAloneAndReadAgain) {
  make_secret_file(path_);
  struct stat status {};
  ASSERT_EQ(stat(path_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  const auto parsed = parse_secret(text());
  ASSERT_TRUE(parsed);
  EXPECT_TRUE(is_same(*parsed, read_secret_file(path_)));
  EXPECT_TRUE(text().ends_with('\n'));
}

TEST_F(SecretFile, IsNeverOverwritten) {
  write("mine");
  const std::string message = error_of([&] { make_secret_file(path_); });
  EXPECT_NE(message.find("exists"), std::string::npos) << message;
  EXPECT_EQ(text(), "mine");
  std::filesystem::remove(path_);
  std::filesystem::create_symlink("nowhere", path_);
  EXPECT_NE(error_of([&] { make_secret_file(path_); }), "");
}

TEST_F(SecretFile, ThatCannotBeReadIsNamed) {
  EXPECT_NE(reading_error().find(path_), std::string::npos) << reading_error();
  EXPECT_NE(error_of([] { read_secret_file("/"); }).find("directory"), std::string::npos);
}

TEST_F(SecretFile, ThatOthersMayReadIsRefused) {
  for (const mode_t mode : {0604u, 0640u, 0660u, 0666u}) {
    write(kText, mode);
    EXPECT_NE(reading_error().find("chmod 600 " + path_), std::string::npos) << reading_error();
  }
  write(kText, 0400);
  EXPECT_EQ(reading_error(), "");
}

TEST_F(SecretFile, OfOtherContentIsRefusedWithoutQuotingIt) {
  for (const std::string& content : {kDigits, kText + "0", std::string(100'000, 'b'),
                                     "gradwire-secret-1 " + kDigits.substr(2)}) {
    write(content);
    EXPECT_NE(reading_error().find("not a secret"), std::string::npos) << reading_error();
    EXPECT_NE(reading_error().find("gradwire secret FILE"), std::string::npos);
    EXPECT_EQ(reading_error().find("0b0c0d"), std::string::npos) << reading_error();
    EXPECT_EQ(reading_error().find("bbb"), std::string::npos) << reading_error();
  }
}

TEST(SecurityOptions, ThatContradictOneAnotherAreRefused) {
  const auto message = [](const SecurityOptions& options) {
    return error_of([&] { check_security(options); });
  };
  EXPECT_EQ(message({}), "");
  EXPECT_EQ(message({.secret_file = "s"}), "");
  EXPECT_EQ(message({.certificate_file = "c", .key_file = "k", .authority_file = "a"}), "");
  EXPECT_NE(message({.secret = Secret::random(), .secret_file = "s"}), "");
  EXPECT_NE(message({.secret_file = "s", .authority_file = "a"}).find("a secret"),
            std::string::npos);
  EXPECT_NE(message({.certificate_file = "c", .key_file = "k"}).find("(--tls-ca) is missing"),
            std::string::npos);
}

}  // namespace
}  // namespace gradwire
