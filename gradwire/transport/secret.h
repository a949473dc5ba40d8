// Secret: 32 random bytes that all ranks of a run share. Whoever has them belongs to the run.
//
// The text form is one line, which people recognise: "gradwire-secret-1 " and 64 digits, 0 to 9 and
// a to f. Neither the bytes nor the text appear in a message, and every copy is wiped when it ends.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "gradwire/core/expected.h"

namespace gradwire {

class Secret {
 public:
  static constexpr std::size_t kBytes = 32;

  // Throws UsageError for another length.
  explicit Secret(std::span<const std::byte> bytes);
  ~Secret();
  Secret(const Secret&) = default;
  Secret& operator=(const Secret&) = default;

  // From the system's random numbers. Throws Error.
  static Secret random();

  std::span<const std::byte, kBytes> bytes() const { return bytes_; }

 private:
  std::array<std::byte, kBytes> bytes_;
};

// The text form, with or without the end of the line.
Expected<Secret, DecodeError> parse_secret(std::string_view text);

// Reads a file of the text form. Throws FileError, also if others than its owner may read the file.
Secret read_secret_file(const std::string& path);

// Writes a new random secret that only the owner may read. Throws FileError if the file exists or
// cannot be written.
void make_secret_file(const std::string& path);

}  // namespace gradwire
