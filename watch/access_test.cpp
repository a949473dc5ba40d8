#include "watch/access.h"

#include <filesystem>

#include "gradwire/core/error.h"
#include "gradwire/file/test_directory.h"
#include "gtest/gtest.h"
#include "watch/token.h"

namespace gradwire::watch {
namespace {

constexpr std::uint16_t kPort = 8470;
constexpr const char* kToken = "0123456789abcdef";

TEST(Access, WithoutATokenOnlyNamesOfThisMachineMayBeAskedFor) {
  for (const char* host : {"localhost", "localhost:8470", "127.0.0.1", "127.0.0.1:1", "127.1.2.3:9",
                           "[::1]", "[::1]:8470"}) {
    EXPECT_EQ(judge({.host = host}, "", kPort), Verdict::allowed) << host;
  }
  for (const char* host : {"", "example.org", "example.org:8470", "127.0.0.1.example.org",
                           "localhost.example.org:8470", "128.0.0.1", "[::2]:8470", "::1"}) {
    EXPECT_EQ(judge({.host = host}, "", kPort), Verdict::wrong_host) << host;
  }
}

TEST(Access, ATokenIsTakenFromTheQueryTheHeaderOrTheCookie) {
  const std::string token = kToken;
  const std::string cookie = cookie_name(kPort) + "=" + token;
  EXPECT_EQ(judge({.host = "any", .token = token}, token, kPort), Verdict::allowed);
  EXPECT_EQ(judge({.authorization = "Bearer " + token}, token, kPort), Verdict::allowed);
  EXPECT_EQ(judge({.cookie = cookie}, token, kPort), Verdict::allowed);
  EXPECT_EQ(judge({.cookie = "a=b; " + cookie + "; c=d"}, token, kPort), Verdict::allowed);
}

TEST(Access, NoTokenAndWrongTokensAreRefused) {
  const std::string token = kToken;
  EXPECT_EQ(judge({.host = "localhost"}, token, kPort), Verdict::no_token);
  for (const std::string& wrong : {token + "0", token.substr(1), std::string("0123456789abcdeg")}) {
    EXPECT_EQ(judge({.token = wrong}, token, kPort), Verdict::wrong_token);
    EXPECT_EQ(judge({.authorization = "Bearer " + wrong}, token, kPort), Verdict::wrong_token);
  }
  EXPECT_EQ(judge({.authorization = "Basic " + token}, token, kPort), Verdict::no_token);
  EXPECT_EQ(judge({.cookie = cookie_name(8471) + "=" + token}, token, kPort), Verdict::no_token);
  EXPECT_EQ(judge({.cookie = cookie_name(kPort) + "x=" + token}, token, kPort), Verdict::no_token);
}

TEST(Access, LoopbackAddressesAreTold) {
  EXPECT_TRUE(is_loopback_address("127.0.0.1"));
  EXPECT_TRUE(is_loopback_address("127.9.9.9"));
  EXPECT_TRUE(is_loopback_address("::1"));
  EXPECT_FALSE(is_loopback_address("0.0.0.0"));
  EXPECT_FALSE(is_loopback_address("10.0.0.1"));
  EXPECT_FALSE(is_loopback_address("::"));
  EXPECT_THROW(is_loopback_address("256.0.0.1"), Error);
}

TEST(Token, RandomOnesDiffer) {
  const std::string token = random_token();
  EXPECT_EQ(token.size(), 32u);
  EXPECT_NE(token, random_token());
  EXPECT_TRUE(is_token(token, token));
  EXPECT_FALSE(is_token("", token));
}

TEST(Token, AFileThatOthersMayReadOrThatIsTooShortIsRefused) {
  const TestDirectory directory;
  const std::filesystem::path path = directory / "token";
  write_text(path, std::string(kToken) + "\r\nmore\n");
  std::filesystem::permissions(path, std::filesystem::perms(0644));
  EXPECT_THROW(read_token_file(path), Error);
  std::filesystem::permissions(path, std::filesystem::perms(0600));
  EXPECT_EQ(read_token_file(path), kToken);
  for (const char* text : {"", "short\n", "0123456789 abcdef\n", "0123456789\"abcdef\n"}) {
    write_text(path, text);
    EXPECT_THROW(read_token_file(path), Error) << text;
  }
  write_text(path, std::string(300, 'a'));
  EXPECT_THROW(read_token_file(path), Error);
}

}  // namespace
}  // namespace gradwire::watch
