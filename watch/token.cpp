#include "watch/token.h"

#include <openssl/crypto.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>

#include "gradwire/file/file_failure.h"
#include "gradwire/transport/private_file.h"
#include "gradwire/transport/secret.h"

namespace gradwire::watch {
namespace {

constexpr std::size_t kLettersMin = 16;
constexpr std::size_t kLettersMax = 256;

bool is_plain(unsigned char letter) {
  return std::isalnum(letter) != 0 || letter == '-' || letter == '.' || letter == '_' ||
         letter == '~';
}

}  // namespace

std::string random_token() {
  constexpr std::size_t kBytes = 16;
  constexpr char kDigits[] = "0123456789abcdef";
  const Secret secret = Secret::random();
  std::string text;
  for (const std::byte byte : secret.bytes().first(kBytes)) {
    text += kDigits[std::to_integer<unsigned>(byte) >> 4];
    text += kDigits[std::to_integer<unsigned>(byte) & 15];
  }
  return text;
}

std::string read_token_file(const std::string& path) {
  const Descriptor file = open_private_file(path, "the token");
  std::array<char, kLettersMax + 2> buffer{};
  std::size_t size = 0;
  while (size < buffer.size()) {
    const ssize_t count = read(file.get(), buffer.data() + size, buffer.size() - size);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail_errno(path, "cannot be read");
    if (count == 0) break;
    size += static_cast<std::size_t>(count);
  }
  const std::string_view text(buffer.data(), size);
  const std::string token(text.substr(0, text.find_first_of("\r\n")));
  if (token.size() < kLettersMin || token.size() > kLettersMax ||
      !std::ranges::all_of(token, is_plain)) {
    fail_file(path,
              "is not a token: its first line must have 16 to 256 letters, digits, '-', '.', "
              "'_' or '~'");
  }
  return token;
}

bool is_token(std::string_view given, std::string_view token) {
  return given.size() == token.size() &&
         CRYPTO_memcmp(given.data(), token.data(), token.size()) == 0;
}

}  // namespace gradwire::watch
