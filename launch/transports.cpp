#include "launch/transports.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <iterator>

#include "gradwire/core/check.h"
#include "gradwire/transport/in_process.h"
#include "gradwire/transport/mpi.h"
#include "gradwire/transport/tcp.h"
#include "launch/placement.h"
#include "launch/worker_options.h"

namespace gradwire::launch {
namespace {

TransportMaker open_in_process(const Placement& placement, const WorkerOptions&) {
  return [world = std::make_shared<InProcessWorld>(placement.size)](std::size_t rank) {
    return world->join(rank);
  };
}

// One process of the run says it.
void warn_if_exposed(const TcpOptions& tcp) {
  const std::string address = exposed_address(tcp);
  if (address.empty()) return;
  fmt::print(stderr,
             "gradwire: {} is a public address, and connections are not encrypted: anybody on the "
             "way can read the gradients. 'gradwire secret FILE' and --secret FILE prevent it\n",
             address);
}

// The start goes on, since it may have been a stranger's.
void tell_refusal(std::size_t rank, const std::string& reason) {
  fmt::print(stderr, "gradwire: rank {} has refused a connection and continues to wait: {}\n", rank,
             reason);
}

TransportMaker open_tcp(const Placement& placement, const WorkerOptions& options) {
  const TcpOptions tcp{
      .meeting = {.rank = placement.rank,
                  .size = placement.size,
                  .master_host = placement.master_host,
                  .master_port = placement.master_port,
                  .run_key = placement.run_key,
                  .interface = options.interface,
                  .start_time_max = options.peer_timeout(),
                  .on_refusal = [rank = placement.rank](
                                    const std::string& reason) { tell_refusal(rank, reason); }},
      .streams = options.streams,
      .security = find_security(options, process_environment)};
  return [tcp](std::size_t rank) {
    if (rank == 0) warn_if_exposed(tcp);
    return make_tcp_transport(tcp);
  };
}

TransportMaker open_mpi(const Placement& placement, const WorkerOptions&) {
  return [size = placement.size](std::size_t rank) {
    auto transport = make_mpi_transport();
    if (transport->size() != size || transport->rank() != rank) {
      throw StartError(fmt::format(
          "mpirun calls this rank {} of {}, but MPI calls it {} of {}: mpirun belongs to another "
          "MPI than the one that gradwire was built with",
          rank, size, transport->rank(), transport->size()));
    }
    return transport;
  };
}

constexpr TransportEntry kTable[] = {
    {.name = "in-process",
     .help = "threads of one process",
     .workers = WorkerKind::threads,
     .open = open_in_process},
    {.name = "tcp",
     .help = "one process per worker",
     .workers = WorkerKind::processes,
     .open = open_tcp},
    {.name = "mpi", .help = "under mpirun", .workers = WorkerKind::mpi_ranks, .open = open_mpi},
};

}  // namespace

std::span<const TransportEntry> all_transports() { return kTable; }

const TransportEntry& default_transport(WorkerKind workers) {
  const auto found = std::ranges::find(kTable, workers, &TransportEntry::workers);
  GW_CHECK(found != std::end(kTable));
  return *found;
}

const TransportEntry* find_transport(std::string_view name) {
  const auto found = std::ranges::find_if(
      kTable, [name](const TransportEntry& entry) { return entry.name == name; });
  return found == std::end(kTable) ? nullptr : &*found;
}

std::string unknown_transport(std::string_view name) {
  if (name == "gloo") return "gloo is no longer a transport: write --transport tcp";
  std::string names;
  for (const TransportEntry& entry : kTable) {
    names += (names.empty() ? "" : ", ") + std::string(entry.name);
  }
  return fmt::format("there is no transport '{}': choose one of {}", name, names);
}

}  // namespace gradwire::launch
