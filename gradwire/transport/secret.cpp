#include "gradwire/transport/secret.h"

#include <fcntl.h>
#include <openssl/crypto.h>
#include <openssl/rand.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "gradwire/core/error.h"
#include "gradwire/core/usage_error.h"
#include "gradwire/transport/descriptor.h"
#include "gradwire/transport/private_file.h"

namespace gradwire {
namespace {

constexpr std::string_view kPrefix = "gradwire-secret-1 ";
constexpr std::string_view kDigits = "0123456789abcdef";
constexpr std::size_t kTextBytes = kPrefix.size() + 2 * Secret::kBytes;

// The text with the end of its line, wiped when it ends.
struct Text {
  ~Text() { OPENSSL_cleanse(characters.data(), characters.size()); }

  std::array<char, kTextBytes + 1> characters{};
};

Text text_of(const Secret& secret) {
  Text text;
  char* next = std::ranges::copy(kPrefix, text.characters.data()).out;
  for (const std::byte byte : secret.bytes()) {
    *next++ = kDigits[std::to_integer<std::size_t>(byte >> 4)];
    *next++ = kDigits[std::to_integer<std::size_t>(byte & std::byte{15})];
  }
  *next = '\n';
  return text;
}

[[noreturn]] void fail(const std::string& path, const std::string& what) {
  throw FileError(path + ": " + what);
}

}  // namespace

Secret::Secret(std::span<const std::byte> bytes) {
  if (bytes.size() != kBytes) {
    throw UsageError("a secret of " + std::to_string(bytes.size()) + " bytes: it must have " +
                     std::to_string(kBytes) + " random bytes ('gradwire secret FILE' makes one)");
  }
  std::ranges::copy(bytes, bytes_.begin());
}

Secret::~Secret() { OPENSSL_cleanse(bytes_.data(), bytes_.size()); }

Secret Secret::random() {
  Secret secret{std::array<std::byte, kBytes>{}};
  if (RAND_priv_bytes(reinterpret_cast<unsigned char*>(secret.bytes_.data()), kBytes) != 1) {
    throw Error("the system has no random numbers for a secret");
  }
  return secret;
}

Expected<Secret, DecodeError> parse_secret(std::string_view text) {
  if (!text.starts_with(kPrefix)) {
    return Unexpected{DecodeError{"it does not begin with 'gradwire-secret-1 '", 0}};
  }
  if (text.ends_with('\n')) text.remove_suffix(1);
  if (text.size() != kTextBytes) {
    return Unexpected{DecodeError{"it does not have 64 digits", kPrefix.size()}};
  }
  std::array<std::byte, Secret::kBytes> bytes{};
  for (std::size_t i = 0; i < 2 * bytes.size(); ++i) {
    const std::size_t digit = kDigits.find(text[kPrefix.size() + i]);
    if (digit == std::string_view::npos) {
      OPENSSL_cleanse(bytes.data(), bytes.size());
      return Unexpected{
          DecodeError{"it has other characters than 0 to 9 and a to f", kPrefix.size() + i}};
    }
    bytes[i / 2] = bytes[i / 2] << 4 | static_cast<std::byte>(digit);
  }
  const Secret secret(bytes);
  OPENSSL_cleanse(bytes.data(), bytes.size());
  return secret;
}

Secret read_secret_file(const std::string& path) {
  const Descriptor file = open_private_file(path, "the secret");
  // One byte more than the longest text, so that a longer file is seen.
  std::array<char, kTextBytes + 2> characters{};
  std::size_t count = 0;
  ssize_t read = 1;
  while (read > 0 && count < characters.size()) {
    read = ::read(file.get(), characters.data() + count, characters.size() - count);
    if (read > 0) count += static_cast<std::size_t>(read);
  }
  const int error = errno;
  const auto secret = parse_secret({characters.data(), count});
  OPENSSL_cleanse(characters.data(), characters.size());
  if (read < 0) fail(path, std::string("the secret cannot be read: ") + std::strerror(error));
  if (!secret) {
    fail(path, std::string("this is not a secret: ") + secret.error().what +
                   ". 'gradwire secret FILE' makes one");
  }
  return *secret;
}

void make_secret_file(const std::string& path) {
  const Descriptor file(
      open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR));
  if (!file && errno == EEXIST) {
    fail(path, "the file exists, and a secret never replaces a file: choose another name");
  }
  if (!file) fail(path, std::string("the secret cannot be written: ") + std::strerror(errno));
  const Text text = text_of(Secret::random());
  const auto written = write(file.get(), text.characters.data(), text.characters.size());
  if (written != static_cast<ssize_t>(text.characters.size()) || fsync(file.get()) != 0) {
    const std::string why = written >= 0 ? "the disk may be full" : std::strerror(errno);
    unlink(path.c_str());
    fail(path, "the secret cannot be written: " + why);
  }
}

}  // namespace gradwire
