#include "cli/config_file.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>

#include "gradwire/core/usage_error.h"

namespace gradwire::cli {
namespace {

constexpr std::string_view kOption = "--config";

using Arguments = std::vector<std::string>;

// The file that --config names, taken out of the arguments; empty if there is none.
std::string take_file(Arguments& arguments) {
  const auto end = std::ranges::find(arguments, "--");
  for (auto it = arguments.begin(); it != end; ++it) {
    if (it->starts_with(std::string(kOption) + '=')) {
      const std::string file = it->substr(kOption.size() + 1);
      arguments.erase(it);
      return file;
    }
    if (*it != kOption) continue;
    if (it + 1 == end) throw UsageError("--config needs the name of a file");
    const std::string file = it[1];
    arguments.erase(it, it + 2);
    return file;
  }
  return "";
}

bool is_given(const Arguments& arguments, const std::string& option) {
  return std::ranges::any_of(arguments, [&](const std::string& argument) {
    return argument == option || argument.starts_with(option + '=');
  });
}

std::vector<CLI::ConfigItem> read_items(const std::string& file) {
  if (!std::filesystem::is_regular_file(file)) {
    throw UsageError(fmt::format("--config {}: there is no such file", file));
  }
  try {
    return CLI::ConfigTOML().from_file(file);
  } catch (const CLI::Error& error) {
    throw UsageError(fmt::format("--config {}: {}", file, error.what()));
  }
}

}  // namespace

std::vector<std::string> with_config_file(std::vector<std::string> arguments) {
  const std::string file = take_file(arguments);
  if (file.empty()) return arguments;
  Arguments added;
  for (const CLI::ConfigItem& item : read_items(file)) {
    if (item.name == "++" || item.name == "--") continue;  // CLI11's marks of sections
    if (!item.parents.empty()) {
      throw UsageError(
          fmt::format("--config {}: '{}' is in a section; write all options on top, "
                      "such as: model = \"cnn\"",
                      file, item.fullname()));
    }
    if (item.inputs.empty() || item.name.find(' ') != std::string::npos) {
      throw UsageError(
          fmt::format("--config {}: '{}' is not an option with a value, such as: model "
                      "= \"cnn\"",
                      file, item.name));
    }
    const std::string option = "--" + item.name;
    if (is_given(arguments, option)) continue;
    for (const std::string& value : item.inputs) {
      if (value != "false") added.push_back(value == "true" ? option : option + '=' + value);
    }
  }
  const auto behind_command = arguments.begin() + (arguments.empty() ? 0 : 1);
  arguments.insert(behind_command, added.begin(), added.end());
  return arguments;
}

}  // namespace gradwire::cli
