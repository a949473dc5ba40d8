// Placement: the role of this process among the workers of a command. It runs all of them, is one
// of them, or starts them. The placement follows from the options and from the environment that
// mpirun, torchrun, srun or another launcher set. Pure functions; the environment is an argument.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "launch/transports.h"

namespace gradwire::launch {

inline constexpr std::size_t kWorkersDefault = 2;

// The user's options; those that are not set follow from the environment.
struct WorkersAsked {
  const TransportEntry* transport = nullptr;
  std::optional<std::size_t> workers = {};
  std::size_t workers_default = kWorkersDefault;  // if the environment does not say
};

// A number that all workers of a run know, and strangers do not.
inline constexpr const char* kRunKeyVariable = "GRADWIRE_RUN_KEY";

// The call that started the workers on their hosts, "gradwire run --hosts a,b --": a worker's own
// arguments follow it in a command to repeat.
inline constexpr const char* kCallVariable = "GRADWIRE_CALL";

enum class Role {
  all_workers,  // threads of this process
  one_worker,   // the others are processes, and mpirun, srun or the like started them
  starter,      // this process is no worker: it starts one process for each
};

struct Placement {
  Role role = Role::all_workers;
  const TransportEntry* transport = &default_transport(WorkerKind::threads);
  std::size_t rank = 0;  // of the one worker
  std::size_t size = 1;  // workers

  // The address of rank 0, for one worker of several that meet by TCP.
  std::string master_host = {};
  std::uint16_t master_port = 0;
  std::uint64_t run_key = 0;  // by kRunKeyVariable; 0: there is none

  std::string call = "gradwire";  // by kCallVariable; in front of the command's arguments

  // True in the one process of the command that prints the results.
  bool reports() const { return role == Role::all_workers || rank == 0; }
};

// The value of a variable; null if it is not set. An empty value counts as not set.
using Environment = std::function<const char*(const char* name)>;
const char* process_environment(const char* name);

// Throws UsageError where options and environment contradict one another.
Placement find_placement(const WorkersAsked& asked, const Environment& environment);

// The workers that share this machine, as far as the environment of one worker says; otherwise all.
std::size_t workers_on_host(const Placement& placement, const Environment& environment);

}  // namespace gradwire::launch
