// Writes a text to a file.
#pragma once

#include <filesystem>
#include <string>

namespace gradwire::reproduce {

// Makes the directories above it. The file appears whole or not at all. Throws FileError.
void write_text_file(const std::filesystem::path& path, const std::string& text);

}  // namespace gradwire::reproduce
