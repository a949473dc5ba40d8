#include "launch/worker_options.h"

#include <fmt/format.h>

#include "gradwire/core/usage_error.h"

namespace gradwire::launch {
namespace {

std::optional<TransportKind> transport_asked(const WorkerOptions& options) {
  for (const auto kind : {TransportKind::in_process, TransportKind::gloo, TransportKind::mpi}) {
    if (options.transport == name(kind)) return kind;
  }
  return std::nullopt;
}

void check_server(const WorkerOptions& options, const Placement& placement) {
  if (options.topology() != Topology::server) {
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

}  // namespace

Placement find_placement(const WorkerOptions& options) {
  const Placement placement = find_placement({.transport = transport_asked(options),
                                              .workers = options.workers,
                                              .workers_default = options.workers_default},
                                             process_environment);
  check_server(options, placement);
  return placement;
}

}  // namespace gradwire::launch
