#include "cli/options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <string>
#include <system_error>

namespace gradwire::cli {

CLI::Validator whole_number(std::uint64_t least, std::uint64_t most) {
  const auto normalise = [least, most](std::string& text) {
    std::uint64_t number = 0;
    const char* const end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, number);
    if (error != std::errc() || rest != end || number < least || number > most) {
      return fmt::format("'{}' is not a whole number from {} to {}", text, least, most);
    }
    text = std::to_string(number);
    return std::string();
  };
  return {normalise, ""};
}

CLI::Option* add_json_option(CLI::App& command, bool& json) {
  return command.add_flag("--json", json, "Print one JSON document on stdout, nothing else");
}

CLI::Option* add_threads_option(CLI::App& command, std::size_t& threads) {
  return add_count_option(command, "--threads", threads, kThreadsMax,
                          "Threads that share the work");
}

CLI::Option* add_count_option(CLI::App& command, const char* name, std::size_t& count,
                              std::size_t most, const char* what) {
  return command.add_option(name, count, what)
      ->transform(whole_number(1, most))
      ->type_name("N")
      ->capture_default_str();
}

}  // namespace gradwire::cli
