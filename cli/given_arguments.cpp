#include "cli/given_arguments.h"

#include <CLI/CLI.hpp>

namespace gradwire::cli {
namespace {

// CLI11 gives no name for options that the help does not list.
std::string name_of(const CLI::Option& option) {
  const std::vector<std::string>& names = option.get_lnames();
  return names.empty() ? option.get_name() : "--" + names.front();
}

}  // namespace

std::vector<std::string> given_arguments(const CLI::App& command) {
  std::vector<std::string> arguments;
  if (const CLI::App* const parent = command.get_parent()) {
    arguments = given_arguments(*parent);
    arguments.push_back(command.get_name());
  }
  for (const CLI::Option* option : command.get_options()) {
    const bool is_flag = option->get_expected_max() == 0;
    for (const std::string& result : option->results()) {
      arguments.push_back(name_of(*option));
      if (!is_flag) arguments.push_back(result);
    }
  }
  return arguments;
}

}  // namespace gradwire::cli
