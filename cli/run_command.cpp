// gradwire run: a command on several hosts. And gradwire agent, which run starts on every host.
#include <fmt/format.h>
#include <fmt/ostream.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <ostream>

#include "cli/commands.h"
#include "cli/host_options.h"
#include "cli/program.h"
#include "console/shell_word.h"
#include "gradwire/core/usage_error.h"
#include "launch/agent.h"
#include "launch/placement.h"
#include "launch/stop_request.h"

namespace gradwire::cli {
namespace {

// "gradwire run --hosts a,b --", so that messages of workers can show a command to repeat.
std::string call_of(const CLI::App& app) {
  std::string call = "gradwire run";
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_positional()) continue;
    for (const std::string& value : option->results()) {
      call += ' ' + option->get_name() + ' ' + console::shell_word(value);
    }
  }
  return call + " --";
}

// "host1", "host1, host2" or "host1, ... host16".
std::string host_names(const std::vector<std::string>& hosts) {
  constexpr std::size_t kNamedMax = 4;
  if (hosts.size() <= kNamedMax) return fmt::format("{}", fmt::join(hosts, ", "));
  return fmt::format("{}, ... {}", hosts.front(), hosts.back());
}

void run(const HostArguments& arguments, const CLI::App& app, const console::Console& console) {
  if (arguments.hosts.empty()) throw UsageError("give the hosts: -H host1,host2");
  launch::HostsOptions options = arguments.parsed();
  options.variables.push_back(fmt::format("{}={}", launch::kCallVariable, call_of(app)));
  const launch::StopRequest stop;
  options.wants_stop = launch::StopRequest::is_made;
  launch::check_hosts(options);
  const std::size_t workers = options.hosts.size() * options.ranks_per_host;
  fmt::print(console.err, "gradwire: starting {} worker{} over ssh on {}\n", workers,
             workers == 1 ? "" : "s", host_names(options.hosts));
  launch::run_on_hosts(options);
}

}  // namespace

void add_run_command(CLI::App& program, const console::Console& console) {
  auto* app = program.add_subcommand("run", "Run a command with its workers on several hosts");
  auto arguments = std::make_shared<HostArguments>();
  add_host_options(*app, *arguments);
  app->add_option("COMMAND", arguments->options.arguments,
                  "The command of the workers and its options, behind --")
      ->required()
      ->type_name("");
  app->footer(
      "The command follows the options. Every host needs this program at the same path, the data,\n"
      "and an ssh login without a password. Rank 0's results go to stdout, all other lines to\n"
      "stderr with the rank in front. 'gradwire doctor -H ...' checks the hosts first.\n"
      "Example:\n"
      "  gradwire run -H host1,host2,host3,host4 -- train --model cnn --method 'natural | "
      "entropy'");
  app->callback([arguments, app, &console] { run(*arguments, *app, console); });
}

void add_agent_command(CLI::App& program) {
  auto* app = program.add_subcommand("agent", "Started by 'gradwire run' on every host");
  app->group("");  // not in the help
  app->callback([] { throw ExitCode(launch::run_agent()); });
}

}  // namespace gradwire::cli
