// The token of a watcher: who has it may see the runs. Pure functions, but for random_token and
// read_token_file.
#pragma once

#include <string>
#include <string_view>

namespace gradwire::watch {

// 32 hexadecimal digits, from the system's random numbers.
std::string random_token();

// The first line of a file that only its owner may read: 16 to 256 letters, digits and -._~ that an
// URL can hold. Throws FileError.
std::string read_token_file(const std::string& path);

// Takes as long for every text of one length.
bool is_token(std::string_view given, std::string_view token);

}  // namespace gradwire::watch
