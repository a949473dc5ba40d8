// The transports that the workers of a command may use, as one table. A transport is added in two
// files: a row of the table in transports.cpp, and its header in gradwire/gradwire.h. Values that
// live as long as the program, for any thread.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "gradwire/transport/transport.h"

namespace gradwire::launch {

struct Placement;
struct WorkerOptions;

// What the workers of a transport are, and who starts them.
enum class WorkerKind {
  threads,    // of one process
  processes,  // with RANK and WORLD_SIZE in their environment; this program can start them
  mpi_ranks,  // mpirun starts them
};

// Makes the transport of one rank of this process. Throws StartError.
using TransportMaker = std::function<std::unique_ptr<Transport>(std::size_t rank)>;

struct TransportEntry {
  const char* name = "";  // in options and records
  const char* help = "";  // a few words behind the name
  WorkerKind workers = WorkerKind::threads;
  TransportMaker (*open)(const Placement& placement, const WorkerOptions& options) = nullptr;
};

// In the order of listings. The first one of each kind of workers is the default of that kind.
std::span<const TransportEntry> all_transports();
const TransportEntry& default_transport(WorkerKind workers);

// Null for an unknown name.
const TransportEntry* find_transport(std::string_view name);

// What to tell whoever asked for it: the names that exist, or the one that has replaced it.
std::string unknown_transport(std::string_view name);

}  // namespace gradwire::launch
