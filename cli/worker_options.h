// The options of commands that have workers: how many there are, how they are connected, and who
// averages. The variables must outlive the call to parse.
#pragma once

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>

#include "cli/worker_place.h"
#include "gradwire/collective/topology.h"

namespace gradwire::cli {

struct WorkerOptions {
  std::optional<std::size_t> workers = {};
  std::size_t workers_default = kWorkersDefault;
  std::optional<std::string> transport = {};
  std::string topology_name = name(Topology::automatic);
  std::optional<std::size_t> server = {};
  bool dedicated_server = false;
  std::string interface = {};
  std::size_t deadline_seconds = 60;

  Topology topology() const { return topology_of(topology_name); }
  std::size_t server_rank() const { return server.value_or(0); }
  std::chrono::seconds peer_timeout() const { return std::chrono::seconds(deadline_seconds); }
};

void add_worker_options(CLI::App& app, WorkerOptions& options);

// Where this process stands. Throws UsageError for options that contradict one another or the
// environment.
WorkerPlace find_place(const WorkerOptions& options);

}  // namespace gradwire::cli
