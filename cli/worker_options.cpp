#include "cli/worker_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "cli/advise_options.h"
#include "cli/options.h"
#include "gradwire/core/error.h"
#include "gradwire/transport/tcp.h"
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

std::string check_hosts(const std::string& text) {
  try {
    HostChoice::of_text(text);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

std::string check_transport(const std::string& name) {
  return launch::find_transport(name) != nullptr ? "" : launch::unknown_transport(name);
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
      ->check(check_transport)
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
  app.add_option("--streams", options.streams,
                 "Connections for data to each peer, for --transport tcp")
      ->transform(whole_number(1, kTcpStreamsMax))
      ->type_name("N")
      ->capture_default_str();
  app.add_option("--secret", options.security.secret_file,
                 "Encrypt all connections, with the secret in this file ('gradwire secret' makes "
                 "one) [GRADWIRE_SECRET_FILE]")
      ->type_name("FILE");
  app.add_option("--tls-cert", options.security.certificate_file,
                 "Encrypt all connections, with this certificate of the worker (PEM)")
      ->type_name("FILE");
  app.add_option("--tls-key", options.security.key_file, "The private key of --tls-cert (PEM)")
      ->type_name("FILE");
  app.add_option("--tls-ca", options.security.authority_file,
                 "The authority that signed the certificates of all workers (PEM)")
      ->type_name("FILE");
  app.add_option("--deadline", options.deadline_seconds,
                 "Seconds without a sign of life after which a worker counts as lost")
      ->transform(whole_number(1, kDeadlineSecondsMax))
      ->type_name("SECONDS")
      ->capture_default_str();
  app.add_option_function<std::vector<std::string>>(
         "--links",
         [&options](const std::vector<std::string>& rates) {
           for (const std::string& rate : rates) {
             options.link_bits_per_second.push_back(parse_bandwidth(rate, "--links"));
           }
         },
         "The rate of each worker's link, such as 1Gbit,1Gbit,100Mbit: with --topology scatter, "
         "workers with faster links average more")
      ->delimiter(',')
      ->type_name("RATES");
  app.add_option("--codec-threads", options.codec_threads,
                 "Threads of each worker that encode and decode [cores of the host over its "
                 "workers]")
      ->transform(whole_number(1, kThreadsMax))
      ->type_name("N");
}

void add_levels_option(CLI::App& app, launch::WorkerOptions& options) {
  app.add_option_function<std::string>(
         "--hosts",
         [&options](const std::string& text) { options.hosts = HostChoice::of_text(text); },
         "Workers of one host first add up in shared memory, and hosts exchange the sums: auto "
         "(where hosts have several workers), off, or the number of hosts [auto]")
      ->check(check_hosts)
      ->type_name("HOSTS");
}

}  // namespace gradwire::cli
