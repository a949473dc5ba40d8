// Files of secrets: any text is a secret or refused at a position; there is one text for a secret,
// but for the end of the line.
#include <string_view>

#include "fuzz/target.h"
#include "gradwire/core/check.h"
#include "gradwire/transport/secret.h"

namespace gradwire::fuzz {

void test_input(std::span<const std::byte> input) {
  const std::string_view text(reinterpret_cast<const char*>(input.data()), input.size());
  const auto secret = parse_secret(text);
  if (!secret) {
    GW_CHECK(*secret.error().what != '\0' && secret.error().byte_offset <= text.size() + 64);
    return;
  }
  GW_CHECK(text.starts_with("gradwire-secret-1 "));
  std::string_view digits = text.substr(sizeof("gradwire-secret-1 ") - 1);
  if (digits.ends_with('\n')) digits.remove_suffix(1);
  GW_CHECK(digits.size() == 2 * Secret::kBytes);
  for (std::size_t i = 0; i < digits.size(); ++i) {
    const std::byte byte = secret->bytes()[i / 2];
    const auto value = std::to_integer<std::size_t>(i % 2 == 0 ? byte >> 4 : byte & std::byte{15});
    GW_CHECK(digits[i] == "0123456789abcdef"[value]);
  }
}

}  // namespace gradwire::fuzz
