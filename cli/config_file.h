// --config FILE: options from a TOML file. They become arguments in front of those that were given,
// except for options that were given, too.
#pragma once

#include <string>
#include <vector>

namespace gradwire::cli {

// Throws UsageError for a file that cannot be read or is no TOML.
std::vector<std::string> with_config_file(std::vector<std::string> arguments);

}  // namespace gradwire::cli
