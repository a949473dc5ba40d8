#include "launch/worker_options.h"

#include <fmt/format.h>

#include "gradwire/core/usage_error.h"
#include "gradwire/transport/secret.h"

namespace gradwire::launch {
namespace {

const TransportEntry* transport_asked(const WorkerOptions& options) {
  if (!options.transport) return nullptr;
  const TransportEntry* const found = find_transport(*options.transport);
  if (found == nullptr) {
    throw UsageError(unknown_transport(*options.transport));
  }
  return found;
}

void check_server(const WorkerOptions& options, const Placement& placement) {
  if (!traits_of(options.topology()).has_server) {
    if (options.server) throw UsageError("--server is for --topology server");
    if (options.dedicated_server) throw UsageError("--dedicated-server is for --topology server");
  }
  if (options.server && *options.server >= placement.size) {
    throw UsageError(fmt::format("--server {}: of {} workers the last has rank {}", *options.server,
                                 placement.size, placement.size - 1));
  }
  if (options.dedicated_server && placement.size < 2) {
    throw UsageError("--dedicated-server leaves no worker to send it anything");
  }
}

void check_hosts(const WorkerOptions& options, const Placement& placement) {
  const std::size_t hosts = options.hosts.count;
  if (hosts == 0) return;
  if (options.dedicated_server) {
    throw UsageError("--hosts does not go with --dedicated-server: every rank of a host adds up");
  }
  if (hosts <= placement.size && placement.size % hosts == 0) return;
  throw UsageError(fmt::format("--hosts {}: {} workers cannot be shared by so many hosts equally",
                               hosts, placement.size));
}

// Threads send nothing over a network, so a secret does not matter to them.
void check_encryption(const WorkerOptions& options, const Placement& placement) {
  const SecurityOptions security = find_security(options, process_environment);
  check_security(security);
  // A file that cannot be used is refused once, before every worker refuses it.
  if (placement.role == Role::starter && !security.secret_file.empty()) {
    read_secret_file(security.secret_file);
  }
  if (!security.is_encrypted() || placement.transport->workers != WorkerKind::mpi_ranks) return;
  throw UsageError(fmt::format(
      "a secret or certificates are for --transport {}: MPI does not encrypt what ranks send",
      default_transport(WorkerKind::processes).name));
}

}  // namespace

std::optional<LinkRate> WorkerOptions::link_of(std::size_t rank, std::size_t ranks) const {
  if (link_bits_per_second.empty()) return std::nullopt;
  if (link_bits_per_second.size() != ranks) {
    throw UsageError(
        fmt::format("--links has {} rates for {} workers: give one for each, in the "
                    "order of their ranks",
                    link_bits_per_second.size(), ranks));
  }
  const double bytes_per_second = link_bits_per_second[rank] / 8;
  return LinkRate{.out = bytes_per_second, .in = bytes_per_second};
}

SecurityOptions find_security(const WorkerOptions& options, const Environment& environment) {
  if (options.security.is_encrypted()) return options.security;
  const char* const file = environment("GRADWIRE_SECRET_FILE");
  return {.secret_file = file == nullptr ? "" : file};
}

Placement find_placement(const WorkerOptions& options) {
  const Placement placement = find_placement({.transport = transport_asked(options),
                                              .workers = options.workers,
                                              .workers_default = options.workers_default},
                                             process_environment);
  check_server(options, placement);
  check_hosts(options, placement);
  check_encryption(options, placement);
  options.link_of(0, placement.size);
  return placement;
}

}  // namespace gradwire::launch
