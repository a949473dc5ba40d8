#include "gradwire/transport/file_store.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <thread>

#include "gradwire/transport/descriptor.h"
#include "gradwire/transport/transport.h"

namespace gradwire {
namespace {

const std::string& checked(const std::string& directory) {
  std::error_code error;
  if (!std::filesystem::is_directory(directory, error)) {
    throw StartError(directory + ": is not a directory, and ranks have to meet there");
  }
  if (access(directory.c_str(), R_OK | W_OK | X_OK) != 0) {
    throw StartError(directory +
                     ": cannot be written, and ranks shall meet there: " + std::strerror(errno));
  }
  return directory;
}

[[noreturn]] void fail(const std::filesystem::path& path) {
  throw StartError(path.string() + ": cannot be written: " + std::strerror(errno));
}

}  // namespace

FileStore::FileStore(const std::string& directory, std::chrono::milliseconds time_max)
    : StartStore(time_max), directory_(checked(directory)) {}

std::filesystem::path FileStore::path_of(const std::string& key) const {
  std::string name = key;
  std::ranges::replace(name, '/', '-');
  return directory_ / name;
}

// A file appears whole or not at all: it is written under another name, and gets its own by a link,
// which fails if that name is taken.
bool FileStore::add(const std::string& key, const std::vector<char>& value) {
  std::string draft = directory_ / ".draft-XXXXXX";
  const Descriptor file(mkostemp(draft.data(), O_CLOEXEC));
  if (!file) fail(draft);
  const bool is_written =
      write(file.get(), value.data(), value.size()) == static_cast<ssize_t>(value.size());
  const bool is_added = is_written && link(draft.c_str(), path_of(key).c_str()) == 0;
  const int error = errno;
  unlink(draft.c_str());
  errno = error;
  if (!is_added && errno != EEXIST) fail(path_of(key));
  return is_added;
}

std::optional<std::vector<char>> FileStore::get_until(const std::string& key,
                                                      Clock::time_point time) {
  constexpr std::chrono::milliseconds kLookInterval{5};
  for (;;) {
    std::ifstream file(path_of(key), std::ios::binary);
    if (file) {
      return std::vector<char>(std::istreambuf_iterator<char>(file), {});
    }
    if (Clock::now() >= time) return std::nullopt;
    std::this_thread::sleep_for(kLookInterval);
  }
}

}  // namespace gradwire
