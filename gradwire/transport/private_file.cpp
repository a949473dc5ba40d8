#include "gradwire/transport/private_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "gradwire/core/error.h"

namespace gradwire {

Descriptor open_private_file(const std::string& path, const std::string& what) {
  Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status {};
  if (!file || fstat(file.get(), &status) != 0) {
    throw FileError(path + ": " + what + " cannot be read: " + std::strerror(errno));
  }
  if (S_ISDIR(status.st_mode)) throw FileError(path + ": this is a directory, not " + what);
  // Pipes have no readers that could open them by a name.
  if (S_ISREG(status.st_mode) && (status.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    throw FileError(path +
                    ": other users may open this file, so it keeps nothing secret. If none " +
                    "has read it, call: chmod 600 " + path + ". Otherwise replace " + what);
  }
  return file;
}

}  // namespace gradwire
