#include "gradwire/transport/file_store.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <thread>

#include "gradwire/transport/transport.h"

namespace gradwire {
namespace {

const std::string& checked(const std::string& directory) {
  std::error_code error;
  if (!std::filesystem::is_directory(directory, error)) {
    throw StartError(directory + ": is no directory, and ranks shall meet there");
  }
  if (access(directory.c_str(), R_OK | W_OK | X_OK) != 0) {
    throw StartError(directory +
                     ": cannot be written, and ranks shall meet there: " + std::strerror(errno));
  }
  return directory;
}

}  // namespace

FileStore::FileStore(const std::string& directory, std::chrono::milliseconds time_max)
    : StartStore(time_max), files_(checked(directory)) {}

// Two ranks that do this at the same moment do not see one another: Gloo renames over what is
// there.
bool FileStore::add(const std::string& key, const std::vector<char>& value) {
  if (files_.has(key)) return false;
  files_.set(key, value);
  return true;
}

std::optional<std::vector<char>> FileStore::get_until(const std::string& key,
                                                      Clock::time_point time) {
  constexpr std::chrono::milliseconds kLookInterval{5};
  while (!files_.has(key)) {
    if (Clock::now() >= time) return std::nullopt;
    std::this_thread::sleep_for(kLookInterval);
  }
  return files_.get(key);
}

}  // namespace gradwire
