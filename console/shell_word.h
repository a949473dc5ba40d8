// Quoting for a shell. Pure functions.
#pragma once

#include <string>

namespace gradwire::console {

// The word as a shell reads it back: in quotes where it needs them.
std::string shell_word(const std::string& word);

}  // namespace gradwire::console
