#include "data/refusal.h"

#include "gradwire/file/file_failure.h"

namespace gradwire::data {

std::string Refusal::text() const {
  return "offset " + std::to_string(byte_offset) + ": expected " + expected + ", found " + found;
}

std::string end_or_more(std::size_t bytes_left) {
  if (bytes_left == 0) return "the end of the file";
  return std::to_string(bytes_left) + (bytes_left == 1 ? " more byte" : " more bytes");
}

void refuse_file(const std::filesystem::path& path, const Refusal& refusal) {
  fail_file(path, refusal.text());
}

}  // namespace gradwire::data
