// LineReader: the lines of a file that another process is writing. Each call reads what came since
// the last one. A line counts when it has its end, so that a half-written one is never seen. A file
// that was replaced or cut back, as by a resumed run, is read again from its beginning. For one
// thread at a time.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

namespace gradwire::watch {

class LineReader {
 public:
  explicit LineReader(std::filesystem::path path) : path_(std::move(path)) {}

  struct Handler {
    // What was read is no longer so: the file is another one, a shorter one, or gone.
    std::function<void()> restart;
    std::function<void(std::string_view line)> line;  // without its end
  };
  // Reads at most `bytes_max` bytes, but at least a whole line. Returns whether there may be more.
  // Throws FileError if the file cannot be read, or has a line of more than 64 MB.
  bool read(std::size_t bytes_max, const Handler& handler);

  std::uint64_t bytes_read() const { return offset_; }
  std::uint64_t bytes_in_file() const { return size_; }
  // When the file was last written, in seconds since 1970; 0 if there is none.
  double written_at() const { return written_at_; }

 private:
  bool is_same(int file) const;
  void restart(const Handler& handler);

  std::filesystem::path path_;
  dev_t device_ = 0;
  ino_t inode_ = 0;
  std::uint64_t offset_ = 0;  // of the first byte that was not read
  std::string mark_;          // the last bytes before it
  std::uint64_t size_ = 0;
  double written_at_ = 0;
};

}  // namespace gradwire::watch
