#include "cli/config_file.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>

#include "gradwire/codec/spec.h"
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

// The command of the arguments. Throws UsageError if there is none.
const CLI::App& command_of(const Arguments& arguments, const CLI::App& program) {
  for (const CLI::App* command : program.get_subcommands([](const CLI::App*) { return true; })) {
    if (!arguments.empty() && command->get_name() == arguments.front()) return *command;
  }
  throw UsageError("--config follows a command, as in 'gradwire train --config run.toml'");
}

const CLI::Option& option_called(const std::string& name, const CLI::App& command,
                                 const std::string& file) {
  if (const CLI::Option* option = command.get_option_no_throw("--" + name)) return *option;
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& known : option->get_lnames()) names.push_back(known);
  }
  const auto nearest = nearest_name(name, names);
  throw UsageError(fmt::format("--config {}: '{}' has no option '{}'{}", file, command.get_name(),
                               name, nearest ? fmt::format("; did you mean '{}'?", *nearest) : ""));
}

// Under any of its names.
bool is_given(const Arguments& arguments, const CLI::Option& option, const CLI::App& command) {
  return std::ranges::any_of(arguments, [&](const std::string& argument) {
    return argument.starts_with("--") &&
           command.get_option_no_throw(argument.substr(0, argument.find('='))) == &option;
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

std::vector<std::string> with_config_file(std::vector<std::string> arguments,
                                          const CLI::App& program) {
  const std::string file = take_file(arguments);
  if (file.empty()) return arguments;
  const CLI::App& command = command_of(arguments, program);
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
    if (is_given(arguments, option_called(item.name, command, file), command)) continue;
    const std::string option = "--" + item.name;
    for (const std::string& value : item.inputs) {
      if (value != "false") added.push_back(value == "true" ? option : option + '=' + value);
    }
  }
  const auto behind_command = arguments.begin() + (arguments.empty() ? 0 : 1);
  arguments.insert(behind_command, added.begin(), added.end());
  return arguments;
}

}  // namespace gradwire::cli
