#include "cli/options.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <cmath>
#include <optional>
#include <regex>
#include <string>
#include <string_view>
#include <system_error>

#include "gradwire/core/machine_threads.h"
#include "gradwire/method/parsed_method.h"

namespace gradwire::cli {

namespace {

// 5000000 for "5000000", "5M", "5e6" and "0.5e7"; nothing for other texts, and for fractions.
std::optional<std::uint64_t> parse_whole(std::string_view text) {
  if (text.empty() || !('0' <= text.front() && text.front() <= '9')) return std::nullopt;
  double factor = 1;
  constexpr struct {
    char letter;
    double factor;
  } kUnits[] = {{'k', 1e3}, {'K', 1e3}, {'M', 1e6}, {'G', 1e9}, {'B', 1e9}};
  for (const auto& unit : kUnits) {
    if (text.back() == unit.letter) factor = unit.factor;
  }
  if (factor > 1) text.remove_suffix(1);
  const char* const end = text.data() + text.size();
  std::uint64_t digits = 0;
  const auto [digits_end, digits_error] = std::from_chars(text.data(), end, digits);
  if (factor == 1 && digits_error == std::errc() && digits_end == end) return digits;
  double number = 0;
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  constexpr double kExactMax = 0x1p53;
  number *= factor;
  if (error != std::errc() || rest != end || !(number <= kExactMax) ||
      number != std::floor(number)) {
    return std::nullopt;
  }
  return static_cast<std::uint64_t>(number);
}

}  // namespace

CLI::Validator whole_number(std::uint64_t least, std::uint64_t most) {
  const auto normalise = [least, most](std::string& text) {
    const auto number = parse_whole(text);
    if (!number || *number < least || *number > most) {
      return fmt::format("'{}' is not a whole number from {} to {}", text, least, most);
    }
    text = std::to_string(*number);
    return std::string();
  };
  return {normalise, ""};
}

CLI::Validator trimmed() {
  return {[](std::string& text) {
            CLI::detail::trim(text);
            return std::string();
          },
          ""};
}

void add_config_option(CLI::App& command) {
  // Its value is read before the arguments are parsed (config_file.h).
  command.add_option("--config", "Take options from a TOML file, such as: model = \"cnn\"")
      ->type_name("FILE");
}

void warn_of_threads(std::size_t threads, const char* whose, const console::Console& console) {
  constexpr std::size_t kUseful = 4;
  if (threads <= kUseful * machine_threads()) return;
  fmt::print(console.err, "gradwire: {} threads {} on {} cores only get in each other's way\n",
             threads, whose, machine_threads());
}

void warn_of_share(const std::string& method, const console::Console& console) {
  static const std::regex whole(R"(([a-z0-9]+)\(\s*1\s*([,)]))");
  std::smatch found;
  if (!std::regex_search(method, found, whole)) return;
  try {  // a whole number would not take a percent sign
    parse_method(std::regex_replace(method, whole, "$1(1%$2"));
  } catch (const Error&) {
    return;
  }
  fmt::print(
      console.err,
      "gradwire: in '{}', {}(1) keeps everything: 1 means 100%. Write {}(1%) for one element "
      "in a hundred\n",
      method, found[1].str(), found[1].str());
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
