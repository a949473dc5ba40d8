#include "cli/host_options.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <string_view>

#include "cli/options.h"
#include "gradwire/core/usage_error.h"
#include "launch/placement.h"

namespace gradwire::cli {
namespace {

constexpr std::size_t kRanksPerHostMax = 1024;

// "NAME=VALUE", or "NAME" for the value that the variable has here.
std::string assignment(const std::string& text) {
  if (text.find('=') != std::string::npos) return text;
  const char* const value = launch::process_environment(text.c_str());
  if (value == nullptr) {
    throw UsageError(
        fmt::format("--env {}: there is no such variable here; give --env {}=VALUE", text, text));
  }
  return text + '=' + value;
}

// Settings of gradwire itself; those that tell a worker its place are none.
std::vector<std::string> own_settings() {
  std::vector<std::string> settings;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    if (text.starts_with("GRADWIRE_SECRET_FILE=") || text.starts_with("OMP_NUM_THREADS=")) {
      settings.emplace_back(text);
    }
  }
  return settings;
}

}  // namespace

launch::HostsOptions HostArguments::parsed() const {
  launch::HostsOptions parsed = options;
  parsed.hosts = launch::parse_hosts(hosts);
  for (std::string& variable : parsed.variables) variable = assignment(variable);
  for (std::string& setting : own_settings()) parsed.variables.push_back(std::move(setting));
  return parsed;
}

void add_host_options(CLI::App& app, HostArguments& arguments) {
  launch::HostsOptions& options = arguments.options;
  app.add_option("-H,--hosts", arguments.hosts,
                 "The hosts, as ssh knows them: host1,host2,host3. Rank 0 runs on the first")
      ->type_name("LIST");
  add_count_option(app, "--ranks-per-host", options.ranks_per_host, kRanksPerHostMax,
                   "Workers on each host");
  app.add_option("--master-addr", options.master_host,
                 "The first host's name or address for the other hosts [its name in --hosts]")
      ->type_name("HOST");
  app.add_option("--master-port", options.master_port,
                 "A free TCP port of the first host, where the workers meet")
      ->transform(whole_number(1, 65535))
      ->type_name("PORT")
      ->capture_default_str();
  app.add_option("--program", options.program,
                 "The path of gradwire on all hosts [its path on this one]")
      ->type_name("PATH");
  app.add_option("--chdir", options.directory,
                 "The working directory on all hosts [its name on this one]")
      ->type_name("DIR");
  app.add_option("--env", options.variables,
                 "NAME=VALUE for the workers' environment, or NAME for its value here; repeatable")
      ->type_name("NAME")
      ->allow_extra_args(false);
  app.add_option("--ssh", options.ssh, "The ssh command, with options for it")
      ->type_name("CMD")
      ->capture_default_str();
}

}  // namespace gradwire::cli
