// --config FILE: options from a TOML file. They become arguments in front of those that were given,
// except for options that were given, too.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace gradwire::cli {

// The program has the commands and their options. Throws UsageError for a file that cannot be read,
// is not TOML, or names an unknown option.
std::vector<std::string> with_config_file(std::vector<std::string> arguments,
                                          const CLI::App& program);

}  // namespace gradwire::cli
