// Where this process stands among the workers of a command: all of them, one of them, or the one
// that starts them. Found from the options and from what mpirun, torchrun or a scheduler says in
// the environment. Pure functions; the environment is an argument.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace gradwire::launch {

enum class TransportKind { in_process, gloo, mpi };

// "in-process", "gloo" or "mpi".
const char* name(TransportKind transport);

inline constexpr std::size_t kWorkersDefault = 2;

// What was asked for; what is not set is found out.
struct WorkersAsked {
  std::optional<TransportKind> transport = {};
  std::optional<std::size_t> workers = {};
  std::size_t workers_default = kWorkersDefault;  // where nobody else knows
};

enum class Role {
  all_workers,  // threads of this process
  one_worker,   // the others are processes that somebody else starts
  starter,      // none: this process starts one process for each worker
};

struct Placement {
  Role role = Role::all_workers;
  TransportKind transport = TransportKind::in_process;
  std::size_t rank = 0;  // of the one worker
  std::size_t size = 1;  // workers

  // Where rank 0 listens, if this is one worker of several that meet by TCP.
  std::string master_host = {};
  std::uint16_t master_port = 0;

  // Of all processes of the command, the one that reports.
  bool reports() const { return role == Role::all_workers || rank == 0; }
};

// The value of a variable; null where it is not set. Empty values count as not set.
using Environment = std::function<const char*(const char* name)>;
const char* process_environment(const char* name);

// Throws UsageError where options and environment contradict one another.
Placement find_placement(const WorkersAsked& asked, const Environment& environment);

// The workers that share this machine, as far as the environment of one worker says; otherwise all.
std::size_t workers_on_host(const Placement& placement, const Environment& environment);

}  // namespace gradwire::launch
