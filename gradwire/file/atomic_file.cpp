#include "gradwire/file/atomic_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>

#include "gradwire/core/check.h"
#include "gradwire/file/file_failure.h"

namespace gradwire {
namespace {

namespace fs = std::filesystem;

fs::path resolved_target(const fs::path& target) {
  std::error_code error;
  if (!fs::is_symlink(target, error)) return target;
  fs::path resolved = fs::canonical(target, error);
  if (error) fail_file(target, "is a link that leads nowhere");
  return resolved;
}

// The name is taken only if no other process or thread has it: O_EXCL decides. Not mkstemp, whose
// file would be readable by its owner alone whatever the umask says.
int open_temporary(const fs::path& target, fs::path& temporary) {
  constexpr int kAttempts = 1000;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    temporary = target;
    temporary += ".tmp-" + std::to_string(getpid()) + "-" + std::to_string(attempt);
    constexpr int kReadWriteForAll = 0666;  // less the umask
    const int descriptor =
        open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kReadWriteForAll);
    if (descriptor >= 0 || errno != EEXIST) return descriptor;
  }
  return -1;
}

// Makes the new name survive a power cut. Not every file system can, and the file is whole either
// way, so failing is no error.
void sync_directory(const fs::path& target) {
  const fs::path directory = target.has_parent_path() ? target.parent_path() : fs::path(".");
  const int descriptor = open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  fsync(descriptor);
  close(descriptor);
}

}  // namespace

AtomicFile::AtomicFile(const fs::path& target) : target_(resolved_target(target)) {
  std::error_code error;
  const fs::file_status status = fs::status(target_, error);
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    fail_file(target_, "is not a regular file, so it cannot be replaced");
  }
  fs::path temporary;
  descriptor_ = open_temporary(target_, temporary);
  if (descriptor_ < 0) fail_errno(target_, "cannot be created");
  temporary_ = std::move(temporary);
}

AtomicFile::~AtomicFile() {
  if (descriptor_ >= 0) close(descriptor_);
  if (!temporary_.empty()) unlink(temporary_.c_str());
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  GW_CHECK(descriptor_ >= 0);
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail_errno(target_, "cannot be written");
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

void AtomicFile::commit() {
  GW_CHECK(descriptor_ >= 0);
  if (fsync(descriptor_) != 0) fail_errno(target_, "cannot be written");
  if (close(std::exchange(descriptor_, -1)) != 0) fail_errno(target_, "cannot be written");
  if (rename(temporary_.c_str(), target_.c_str()) != 0) {
    fail_errno(target_, "cannot be replaced");
  }
  temporary_.clear();
  sync_directory(target_);
}

}  // namespace gradwire
