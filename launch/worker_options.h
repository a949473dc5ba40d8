// WorkerOptions: the options of a command about its workers: their number, their transport, their
// topology. Value type.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "gradwire/collective/host_choice.h"
#include "gradwire/collective/owner_shares.h"
#include "gradwire/collective/topology.h"
#include "gradwire/transport/security.h"
#include "launch/placement.h"

namespace gradwire::launch {

struct WorkerOptions {
  std::optional<std::size_t> workers = {};
  std::size_t workers_default = kWorkersDefault;
  std::optional<std::string> transport = {};
  std::string topology_name = name(Topology::automatic);
  std::optional<std::size_t> server = {};
  bool dedicated_server = false;
  std::string interface = {};
  std::size_t streams = 1;  // of the transport tcp
  std::size_t deadline_seconds = 60;
  SecurityOptions security = {};
  std::size_t codec_threads = 0;  // of each worker; 0: the cores of the host over its workers
  HostChoice hosts = {.is_automatic = true};
  std::vector<double> link_bits_per_second = {};  // by rank; empty: not known

  // Throws UsageError if there are rates, but not one for each rank.
  std::optional<LinkRate> link_of(std::size_t rank, std::size_t ranks) const;

  // Those of communicators: a dedicated server has no place on a host with several ranks.
  HostChoice host_choice() const { return dedicated_server ? HostChoice() : hosts; }

  Topology topology() const { return topology_of(topology_name); }
  std::size_t server_rank() const { return server.value_or(0); }
  std::chrono::seconds peer_timeout() const { return std::chrono::seconds(deadline_seconds); }
};

// Those of the options; if they are empty, the secret that GRADWIRE_SECRET_FILE names.
SecurityOptions find_security(const WorkerOptions& options, const Environment& environment);

// The placement of this process, by its environment. Throws UsageError for options that contradict
// one another or the environment.
Placement find_placement(const WorkerOptions& options);

}  // namespace gradwire::launch
