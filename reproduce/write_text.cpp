#include "reproduce/write_text.h"

#include <span>

#include "gradwire/file/atomic_file.h"
#include "gradwire/file/file_failure.h"

namespace gradwire::reproduce {

void write_text_file(const std::filesystem::path& path, const std::string& text) {
  std::error_code failure;
  const std::filesystem::path parent = path.parent_path();
  if (!parent.empty()) std::filesystem::create_directories(parent, failure);
  if (failure) fail_file(parent, "cannot be made: " + failure.message());
  AtomicFile file(path);
  file.write(std::as_bytes(std::span(text)));
  file.commit();
}

}  // namespace gradwire::reproduce
