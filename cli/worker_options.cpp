#include "cli/worker_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "cli/options.h"
#include "gradwire/core/error.h"
#include "launch/transports.h"

namespace gradwire::cli {
namespace {

constexpr std::size_t kWorkersMax = 1024;
constexpr std::uint64_t kDeadlineSecondsMax = 24 * 60 * 60;

std::string check_topology(const std::string& text) {
  try {
    topology_of(text);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

std::vector<std::string> transport_names() {
  std::vector<std::string> names;
  for (const launch::TransportEntry& entry : launch::all_transports())
    names.emplace_back(entry.name);
  return names;
}

// "in-process (threads of one process), ..."
std::string transport_help() {
  std::string help;
  for (const launch::TransportEntry& entry : launch::all_transports()) {
    help += fmt::format("{}{} ({})", help.empty() ? "" : ", ", entry.name, entry.help);
  }
  return help;
}

}  // namespace

void add_worker_options(CLI::App& app, launch::WorkerOptions& options) {
  app.add_option("--workers", options.workers,
                 fmt::format("Number of workers [{}, or that of mpirun or WORLD_SIZE]",
                             options.workers_default))
      ->transform(whole_number(1, kWorkersMax))
      ->type_name("N");
  app.add_option("--transport", options.transport, transport_help())
      ->check(CLI::IsMember(transport_names()))
      ->type_name("T");
  app.add_option("--topology", options.topology_name,
                 name(Topology::automatic) + (", " + topology_names()))
      ->check(check_topology)
      ->type_name("T")
      ->capture_default_str();
  app.add_option("--server", options.server, "The rank that averages, for --topology server [0]")
      ->transform(whole_number(0, kWorkersMax))
      ->type_name("RANK");
  app.add_flag("--dedicated-server", options.dedicated_server,
               "The server only averages, and has no gradients of its own");
  app.add_option("--interface", options.interface,
                 "The network interface of this process, such as eth0")
      ->type_name("IF");
  app.add_option("--deadline", options.deadline_seconds,
                 "Seconds without a sign of life after which a worker counts as lost")
      ->transform(whole_number(1, kDeadlineSecondsMax))
      ->type_name("SECONDS")
      ->capture_default_str();
  app.add_option("--codec-threads", options.codec_threads,
                 "Threads of each worker that encode and decode [cores of the host over its "
                 "workers]")
      ->transform(whole_number(1, kThreadsMax))
      ->type_name("N");
}

}  // namespace gradwire::cli
