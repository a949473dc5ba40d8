#include "cli/program.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <exception>
#include <memory>
#include <new>
#include <ostream>
#include <sstream>

#include "cli/commands.h"
#include "cli/config_file.h"
#include "gradwire/codec/spec.h"
#include "gradwire/core/usage_error.h"
#include "gradwire/transport/transport.h"
#include "gradwire/version.h"
#include "launch/exit_codes.h"
#include "launch/launch.h"
#include "launch/stop_request.h"

namespace gradwire::cli {
namespace {

// CLI11 lists the options that an option excludes in the order of their addresses; help is to be
// the same every time.
class Formatter : public CLI::Formatter {
 public:
  std::string make_option_opts(const CLI::Option* option) const override {
    std::string text = CLI::Formatter::make_option_opts(option);
    std::vector<std::string> names;
    for (const CLI::Option* other : option->get_excludes()) names.push_back(other->get_name());
    if (names.empty()) return text;
    std::ranges::sort(names);
    text.resize(text.rfind(get_label("Excludes")));
    return text + fmt::format("{}: {}", get_label("Excludes"), fmt::join(names, " "));
  }
};

// The command that the arguments have named so far; the program itself if none.
const CLI::App& innermost(const CLI::App& app) {
  const std::vector<CLI::App*> parsed = app.get_subcommands();
  return parsed.empty() ? app : innermost(*parsed.back());
}

// "gradwire bench codec"
std::string call_of(const CLI::App& command) {
  const CLI::App* const parent = command.get_parent();
  return parent == nullptr ? command.get_name() : call_of(*parent) + ' ' + command.get_name();
}

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (!command->get_group().empty()) names.push_back(command->get_name());
  }
  return names;
}

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

std::string unknown_argument(const CLI::App& command, const std::string& argument) {
  const std::vector<std::string> commands = command_names(command);
  const bool is_option = argument.starts_with('-');
  if (!is_option && commands.empty()) return fmt::format("'{}' is one argument too many", argument);
  if (command.get_name() == "run") {  // an option of the workers' command, most likely
    return fmt::format(
        "there is no option '{}' of 'run': write -- in front of the workers' "
        "command, as in 'gradwire run -H host1,host2 -- train --model cnn'",
        argument);
  }
  const auto nearest = nearest_name(argument, is_option ? option_names(command) : commands);
  return fmt::format("there is no {} '{}'{}", is_option ? "option" : "command", argument,
                     nearest ? fmt::format("; did you mean '{}'?", *nearest) : "");
}

int wrong_usage(const CLI::App& program, std::string_view what, const console::Console& console) {
  fmt::print(console.err, "gradwire: {}\n'{} --help' shows how it is used\n", what,
             call_of(innermost(program)));
  return kWrongUsage;
}

int failed(std::string_view what, const console::Console& console) {
  fmt::print(console.err, "gradwire: {}\n", what);
  return kFailed;
}

// Descriptions of options and commands begin at a column, and continue there. Commands to copy stay
// as they are.
std::string wrapped_help(const std::string& text, std::size_t columns_max) {
  constexpr std::size_t kColumn = 30;  // that of CLI11
  std::string wrapped;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const bool is_command = line.starts_with("  gradwire ");
    const std::size_t indent = line.starts_with("  ") ? kColumn : 0;
    while (!is_command && columns_max > 2 * kColumn && line.size() > columns_max) {
      const std::size_t cut = line.rfind(' ', columns_max);
      if (cut == std::string::npos || cut <= indent) break;
      wrapped += line.substr(0, cut) + '\n';
      line = std::string(indent, ' ') + line.substr(cut + 1);
    }
    wrapped += line + '\n';
  }
  return wrapped;
}

// "help bench codec" is "bench codec --help". Throws UsageError for an unknown command.
void replace_help(std::vector<std::string>& arguments, const CLI::App& program) {
  if (arguments.empty() || arguments.front() != "help") return;
  arguments.erase(arguments.begin());
  const CLI::App* command = &program;
  for (const std::string& name : arguments) {
    const std::vector<std::string> names = command_names(*command);
    if (name.starts_with('-')) break;
    if (std::ranges::find(names, name) == names.end()) {
      throw UsageError(unknown_argument(*command, name));
    }
    command = command->get_subcommand(name);
  }
  arguments.push_back("--help");
}

// Parses, which also runs the command.
int parse(CLI::App& program, std::vector<std::string> arguments, const console::Console& console) {
  try {
    replace_help(arguments, program);
    arguments = with_config_file(std::move(arguments), program);
    std::reverse(arguments.begin(), arguments.end());  // CLI11 takes them from the back
    program.parse(std::move(arguments));
  } catch (const CLI::Success& help_or_version) {
    std::ostringstream text;
    program.exit(help_or_version, text, console.err);
    fmt::print(console.out, "{}", wrapped_help(text.str(), console.columns));
    return kDone;
  } catch (const CLI::ParseError& error) {
    // What was not understood is a better hint than what is then missing.
    std::vector<std::string> unknown = program.remaining(true);
    std::erase(unknown, "--");
    return wrong_usage(
        program,
        unknown.empty() ? error.what() : unknown_argument(innermost(program), unknown.front()),
        console);
  } catch (const UsageError& error) {
    return wrong_usage(program, error.what(), console);
  } catch (const SpecError& error) {  // shows the spec and the place in it by itself
    failed(error.what(), console);
    return kWrongUsage;
  }
  const CLI::App& command = innermost(program);
  if (const auto names = command_names(command); !names.empty()) {
    return wrong_usage(
        program, fmt::format("'{}' needs a command: {}", call_of(command), fmt::join(names, ", ")),
        console);
  }
  return kDone;
}

int run(std::vector<std::string> arguments, const console::Console& console) {
  CLI::App program("Gradients in fewer bytes, at the speed of memory.", "gradwire");
  program.formatter(std::make_shared<Formatter>());
  program.set_version_flag("-V,--version", "gradwire " GRADWIRE_VERSION);
  program.footer(
      "Each command has its own help with an example:\n"
      "  gradwire help encode");
  program.require_subcommand(0, 1);
  add_codecs_command(program, console);
  add_methods_command(program, console);
  add_encode_command(program, console);
  add_decode_command(program, console);
  add_inspect_command(program, console);
  add_bench_command(program, console);
  add_advise_command(program, console);
  add_plan_command(program, console);
  add_train_command(program, console);
  add_compare_command(program, console);
  add_run_command(program, console);
  add_agent_command(program);
  add_doctor_command(program, console);
  add_report_command(program, console);
  add_watch_command(program, console);
  add_secret_command(program, console);
  add_reproduce_command(program, console);
  add_completion_command(program, console);
  add_man_command(program, console);
  const int exit_code = parse(program, std::move(arguments), console);
  console.out.flush();
  if (!console.out) return failed("cannot write to stdout: is the disk full?", console);
  return exit_code;
}

}  // namespace

int run_program(std::vector<std::string> arguments, const console::Console& console) {
  try {
    return run(std::move(arguments), console);
  } catch (const std::bad_alloc&) {
    return failed("not enough memory: try fewer elements or threads", console);
  } catch (const launch::Stopped& stopped) {
    if (*stopped.what() != '\0') fmt::print(console.err, "gradwire: {}\n", stopped.what());
    return launch::kStopped;
  } catch (const ExitCode& code) {
    return code.number();
  } catch (const launch::WorkerFailed& failure) {
    if (failure.exit_code() == launch::kReported) return kFailed;
    failed(failure.what(), console);
    return failure.exit_code() == launch::kLostPeer ? kFailed : failure.exit_code();
  } catch (const PeerError& error) {
    failed(error.what(), console);
    return std::getenv(launch::kWorkerVariable) != nullptr ? launch::kLostPeer : kFailed;
  } catch (const std::exception& error) {
    return failed(error.what(), console);
  }
}

}  // namespace gradwire::cli
