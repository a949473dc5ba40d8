#include "watch/line_reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "gradwire/file/file_failure.h"
#include "gradwire/transport/descriptor.h"

namespace gradwire::watch {
namespace {

constexpr std::size_t kLineMax = 64u << 20;
// Of the end of what was read: enough to tell one line from another one, which has other times.
constexpr std::size_t kMarkMax = 256;

// Fewer than asked for at the end of the file.
std::string read_at(int file, std::uint64_t offset, std::size_t bytes,
                    const std::filesystem::path& path) {
  std::string text(bytes, '\0');
  std::size_t done = 0;
  while (done < bytes) {
    const ssize_t count =
        pread(file, text.data() + done, bytes - done, static_cast<off_t>(offset + done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail_errno(path, "cannot be read");
    if (count == 0) break;
    done += static_cast<std::size_t>(count);
  }
  text.resize(done);
  return text;
}

}  // namespace

void LineReader::restart(const Handler& handler) {
  const bool is_news = offset_ > 0;
  offset_ = 0;
  mark_.clear();
  if (is_news) handler.restart();
}

bool LineReader::read(std::size_t bytes_max, const Handler& handler) {
  const Descriptor file(open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file) {
    if (errno != ENOENT && errno != ENOTDIR) fail_errno(path_, "cannot be opened");
    size_ = 0;
    written_at_ = 0;
    restart(handler);
    return false;
  }
  struct stat status {};
  if (fstat(file.get(), &status) != 0) fail_errno(path_, "cannot be read");
  if (!S_ISREG(status.st_mode)) fail_file(path_, "is not a file");
  size_ = static_cast<std::uint64_t>(status.st_size);
  written_at_ = static_cast<double>(status.st_mtim.tv_sec) +
                1e-9 * static_cast<double>(status.st_mtim.tv_nsec);
  const bool is_known = device_ == status.st_dev && inode_ == status.st_ino;
  if (!is_known || size_ < offset_ ||
      read_at(file.get(), offset_ - mark_.size(), mark_.size(), path_) != mark_) {
    restart(handler);
  }
  device_ = status.st_dev;
  inode_ = status.st_ino;

  std::size_t bytes = bytes_max;
  while (size_ > offset_) {
    const std::string text = read_at(file.get(), offset_, bytes, path_);
    // A line that is longer than bytes_max comes alone.
    const std::size_t end = bytes > bytes_max ? text.find('\n') : text.rfind('\n');
    if (end == text.npos) {
      if (text.size() < bytes) return false;  // the line is still being written
      if (bytes >= kLineMax) fail_file(path_, "has a line of more than 64 MB");
      bytes = std::min(2 * bytes, kLineMax);
      continue;
    }
    const std::string_view whole(text.data(), end + 1);
    // Before the lines are told, so that one that cannot be understood is not read twice.
    offset_ += whole.size();
    mark_ = whole.substr(whole.size() - std::min(whole.size(), kMarkMax));
    for (std::string_view rest = whole; !rest.empty();) {
      const std::size_t length = rest.find('\n');
      handler.line(rest.substr(0, length));
      rest.remove_prefix(length + 1);
    }
    return size_ > offset_;
  }
  return false;
}

}  // namespace gradwire::watch
