// JSON documents as files. Fields keep the order in which they are written.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

namespace gradwire::record {

using Json = nlohmann::ordered_json;

// Indented, with a line feed at the end. A number that is not finite becomes null, and invalid
// UTF-8 becomes the replacement character.
std::string to_text(const Json& document);

// Writes the whole file or nothing. Throws FileError.
void write_json_file(const std::filesystem::path& path, const Json& document);

// Throws FileError, also for a file that is not JSON.
Json read_json_file(const std::filesystem::path& path);

}  // namespace gradwire::record
