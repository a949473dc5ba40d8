// Words for a shell. Pure functions.
#pragma once

#include <string>

namespace gradwire::console {

// As a shell takes it: between quotes, where it needs them.
std::string shell_word(const std::string& word);

}  // namespace gradwire::console
