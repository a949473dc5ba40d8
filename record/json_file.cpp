#include "record/json_file.h"

#include <span>

#include "gradwire/file/atomic_file.h"
#include "gradwire/file/file_failure.h"
#include "gradwire/file/read_file.h"

namespace gradwire::record {

std::string to_text(const Json& document) {
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

void write_json_file(const std::filesystem::path& path, const Json& document) {
  const std::string text = to_text(document);
  AtomicFile file(path);
  file.write(std::as_bytes(std::span(text)));
  file.commit();
}

Json read_json_file(const std::filesystem::path& path) {
  const std::vector<std::byte> bytes = read_file(path);
  const auto* const text = reinterpret_cast<const char*>(bytes.data());
  Json document = Json::parse(text, text + bytes.size(), nullptr, false);
  if (document.is_discarded()) fail_file(path, "is not a JSON document");
  return document;
}

}  // namespace gradwire::record
