#include "gradwire/file/read_file.h"

#include <cstdint>
#include <cstdio>
#include <memory>
#include <new>

#include "gradwire/file/file_failure.h"

namespace gradwire {
namespace {

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

// What to allocate at first: one byte more than the file has, so that its end is met in one read.
std::size_t first_capacity(const std::filesystem::path& path) {
  constexpr std::size_t kUnknownSizeBytes = std::size_t{1} << 16;
  std::error_code unknown;
  const std::uintmax_t size = std::filesystem::file_size(path, unknown);
  return unknown ? kUnknownSizeBytes : static_cast<std::size_t>(size) + 1;
}

std::vector<std::byte> read_all(const std::filesystem::path& path, std::FILE* file) {
  std::vector<std::byte> bytes(first_capacity(path));
  std::size_t used = 0;
  while (true) {
    used += std::fread(bytes.data() + used, 1, bytes.size() - used, file);
    if (std::ferror(file) != 0) fail_errno(path, "cannot be read");
    if (used < bytes.size()) break;
    bytes.resize(2 * bytes.size());
  }
  bytes.resize(used);
  return bytes;
}

}  // namespace

std::vector<std::byte> read_file(const std::filesystem::path& path) {
  const std::unique_ptr<std::FILE, CloseFile> file(std::fopen(path.c_str(), "rb"));
  if (file == nullptr) fail_errno(path, "cannot be opened");
  try {
    return read_all(path, file.get());
  } catch (const std::bad_alloc&) {
    fail_file(path, "is too large for the memory there is");
  }
}

}  // namespace gradwire
