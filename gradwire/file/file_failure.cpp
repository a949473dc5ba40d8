#include "gradwire/file/file_failure.h"

#include <cerrno>
#include <string>
#include <system_error>

#include "gradwire/core/error.h"

namespace gradwire {

void fail_file(const std::filesystem::path& path, std::string_view what) {
  throw FileError(path.string() + ": " + std::string(what));
}

void fail_file(const std::filesystem::path& path, const DecodeError& error) {
  fail_file(path, "at byte " + std::to_string(error.byte_offset) + ": " + error.what);
}

void fail_errno(const std::filesystem::path& path, std::string_view what) {
  const std::string reason = std::generic_category().message(errno);
  fail_file(path, std::string(what) + ": " + reason);
}

}  // namespace gradwire
