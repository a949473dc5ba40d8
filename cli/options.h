// Options that several commands have, so that they look and behave the same everywhere. The
// variables must outlive the call to parse.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "console/console.h"

namespace CLI {
class App;
class Option;
class Validator;
}  // namespace CLI

namespace gradwire::cli {

inline constexpr std::size_t kElementsMax = std::size_t{1} << 40;
inline constexpr std::size_t kThreadsMax = 1024;

// For Option::transform: decimal digits, also as 5M, 10k or 1e6. CLI11 by itself reads "-1" as
// 2^64 - 1, and "010" as 8.
CLI::Validator whole_number(std::uint64_t least, std::uint64_t most);

// For Option::transform: without spaces at the ends.
CLI::Validator trimmed();

void add_config_option(CLI::App& command);

// Say on stderr what is most likely a mistake: many more threads than cores; a share of 1, as in
// 'NAME(1)', where one percent was meant.
void warn_of_threads(std::size_t threads, const char* whose, const console::Console& console);
void warn_of_share(const std::string& method, const console::Console& console);

CLI::Option* add_json_option(CLI::App& command, bool& json);
CLI::Option* add_threads_option(CLI::App& command, std::size_t& threads);
// How many `what` there are: from 1 to `most`.
CLI::Option* add_count_option(CLI::App& command, const char* name, std::size_t& count,
                              std::size_t most, const char* what);

}  // namespace gradwire::cli
