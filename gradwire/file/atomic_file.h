// A file that appears whole or not at all. What is written goes to a temporary name in the same
// directory, and commit() renames it over the target; without commit() it is removed and the target
// stays as it was. Owns the temporary file; for one thread at a time.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

namespace gradwire {

class AtomicFile {
 public:
  // Throws FileError, as all members do. A target that is a symbolic link is written through; one
  // that is neither absent nor a regular file, such as /dev/null, is refused.
  explicit AtomicFile(const std::filesystem::path& target);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::span<const std::byte> bytes);

  // Once. The bytes are on the disk before the target is replaced.
  void commit();

 private:
  std::filesystem::path target_;
  std::filesystem::path temporary_;  // empty once there is none
  int descriptor_ = -1;
};

}  // namespace gradwire
