#include "launch/placement.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <initializer_list>
#include <system_error>
#include <vector>

#include "gradwire/core/usage_error.h"
#include "gradwire/wire/frame.h"
#include "launch/slurm.h"

namespace gradwire::launch {
namespace {

constexpr std::uint64_t kPortMax = 65535;

std::optional<std::string> text_of(const Environment& environment, const char* variable) {
  const char* const value = environment(variable);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

std::optional<std::uint64_t> whole_number(const std::string& text) {
  std::uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || rest != end) return std::nullopt;
  return number;
}

std::uint64_t number_of(const std::string& text, const char* variable, std::uint64_t least,
                        std::uint64_t most) {
  const auto number = whole_number(text);
  if (!number || *number < least || *number > most) {
    throw UsageError(fmt::format("{}={} in the environment is not a whole number from {} to {}",
                                 variable, text, least, most));
  }
  return *number;
}

// The rank and the size that a pair of variables gives, if it is there.
std::optional<Placement> placed_by(const Environment& environment, const char* rank_variable,
                                   const char* size_variable, const TransportEntry& transport) {
  const auto size_text = text_of(environment, size_variable);
  const auto rank_text = text_of(environment, rank_variable);
  if (!size_text || !rank_text) return std::nullopt;
  Placement placement{.role = Role::one_worker, .transport = &transport};
  placement.size = number_of(*size_text, size_variable, 1, UINT32_MAX);
  placement.rank = number_of(*rank_text, rank_variable, 0, placement.size - 1);
  return placement;
}

std::optional<Placement> placed_by_mpirun(const Environment& environment) {
  const TransportEntry& transport = default_transport(WorkerKind::mpi_ranks);
  auto placement = placed_by(environment, "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
                             transport);  // Open MPI
  if (!placement) placement = placed_by(environment, "PMI_RANK", "PMI_SIZE", transport);
  return placement;
}

void check_all_are_set(const Environment& environment) {
  std::vector<std::string> set, missing;
  for (const char* variable : {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"}) {
    (text_of(environment, variable) ? set : missing).emplace_back(variable);
  }
  if (missing.empty()) return;
  throw UsageError(fmt::format("the environment has {} but not {}: set all of them, or none",
                               fmt::join(set, ", "), fmt::join(missing, ", ")));
}

bool asks_for(const WorkersAsked& asked, WorkerKind workers) {
  return asked.transport != nullptr && asked.transport->workers == workers;
}

// The variables that torchrun and most schedulers set.
std::optional<Placement> placed_by_variables(const WorkersAsked& asked,
                                             const Environment& environment) {
  if (!text_of(environment, "RANK") && !text_of(environment, "WORLD_SIZE")) return std::nullopt;
  check_all_are_set(environment);
  auto placement =
      placed_by(environment, "RANK", "WORLD_SIZE",
                asks_for(asked, WorkerKind::processes) ? *asked.transport
                                                       : default_transport(WorkerKind::processes));
  placement->master_host = *text_of(environment, "MASTER_ADDR");
  // torchrun's agent itself listens on the port that it names; the one behind it is ours.
  const std::uint64_t above =
      text_of(environment, "TORCHELASTIC_USE_AGENT_STORE") == "True" ? 1 : 0;
  placement->master_port = static_cast<std::uint16_t>(
      above + number_of(*text_of(environment, "MASTER_PORT"), "MASTER_PORT", 1, kPortMax - above));
  if (const auto key = text_of(environment, kRunKeyVariable)) {
    placement->run_key = number_of(*key, kRunKeyVariable, 1, UINT64_MAX);
  }
  if (auto call = text_of(environment, kCallVariable)) placement->call = std::move(*call);
  return placement;
}

// The first of the variables that is set.
std::optional<std::string> first_text(const Environment& environment,
                                      std::initializer_list<const char*> variables) {
  for (const char* variable : variables) {
    if (auto text = text_of(environment, variable)) return text;
  }
  return std::nullopt;
}

// Only srun sets it: in the script of sbatch and the shell of salloc there is no step.
std::optional<std::string> slurm_step(const Environment& environment) {
  return first_text(environment, {"SLURM_STEP_ID", "SLURM_STEPID"});
}

// Tasks of a Slurm job meet at its first host. The port follows from the job, so that two jobs on
// one host seldom want the same one; MASTER_ADDR and MASTER_PORT replace both.
void add_slurm_meeting(const Environment& environment, Placement& placement) {
  const auto hosts =
      first_text(environment, {"SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST", "SLURM_NODELIST"});
  const auto master = text_of(environment, "MASTER_ADDR");
  if (!hosts && !master) {
    throw UsageError(
        "SLURM_PROCID and SLURM_NTASKS are set, but SLURM_JOB_NODELIST is not: set MASTER_ADDR to "
        "the host of rank 0");
  }
  constexpr std::uint64_t kPortFirst = 20000, kPorts = 10000;
  const std::string job = text_of(environment, "SLURM_JOB_ID").value_or("0") + "." +
                          slurm_step(environment).value_or("0");
  placement.master_host = master ? *master : slurm_hosts(*hosts).front();
  const auto port = text_of(environment, "MASTER_PORT");
  placement.master_port = static_cast<std::uint16_t>(
      port ? number_of(*port, "MASTER_PORT", 1, kPortMax) : kPortFirst + fingerprint(job) % kPorts);
  placement.run_key = fingerprint("slurm job " + job) | 1;  // not 0
}

// In the script of sbatch and the shell of salloc there is no task. All workers may run there, if
// that is what was asked for.
void refuse_without_srun(const WorkersAsked& asked, const Environment& environment) {
  if (asked.transport != nullptr || asked.workers) return;
  if (!text_of(environment, "SLURM_JOB_ID") || slurm_step(environment)) return;
  const auto tasks = text_of(environment, "SLURM_NTASKS");
  const auto count = tasks ? whole_number(*tasks) : std::nullopt;
  if (!count || *count < 2) return;
  throw UsageError(fmt::format(
      "this Slurm job has {} tasks, and srun did not start this command: write 'srun gradwire "
      "...' to run one worker in each task, or add --transport {} to run all workers here",
      *count, default_transport(WorkerKind::threads).name));
}

// A task of srun. A job of one task is not placed: that task may run all workers.
std::optional<Placement> placed_by_slurm(const WorkersAsked& asked,
                                         const Environment& environment) {
  refuse_without_srun(asked, environment);
  const char* const size_variable =
      text_of(environment, "SLURM_STEP_NUM_TASKS") ? "SLURM_STEP_NUM_TASKS" : "SLURM_NTASKS";
  const bool is_for_one = asked.transport != nullptr && !asks_for(asked, WorkerKind::threads);
  auto placement =
      placed_by(environment, "SLURM_PROCID", size_variable,
                is_for_one ? *asked.transport : default_transport(WorkerKind::processes));
  if (!placement || placement->size == 1) return std::nullopt;
  if (text_of(environment, "SLURM_JOB_ID") && !slurm_step(environment)) return std::nullopt;
  if (placement->transport->workers == WorkerKind::processes) {
    add_slurm_meeting(environment, *placement);
  }
  return placement;
}

Placement placed_by_nobody(const WorkersAsked& asked) {
  Placement placement{.size = asked.workers.value_or(asked.workers_default)};
  if (asked.transport != nullptr) placement.transport = asked.transport;
  if (asks_for(asked, WorkerKind::mpi_ranks)) {
    throw UsageError("MPI's workers are started by mpirun: 'mpirun -n 4 gradwire ...'");
  }
  if (asks_for(asked, WorkerKind::processes)) placement.role = Role::starter;
  return placement;
}

void check_agrees(const WorkersAsked& asked, const Placement& placement, std::string_view who) {
  if (asked.transport != nullptr && asked.transport != placement.transport) {
    throw UsageError(fmt::format("--transport {} contradicts {}: the workers use {}",
                                 asked.transport->name, who, placement.transport->name));
  }
  if (asked.workers && *asked.workers != placement.size) {
    throw UsageError(fmt::format("--workers {} contradicts {}: the number of workers is {}",
                                 *asked.workers, who, placement.size));
  }
}

// The tasks of the Slurm step on this host.
std::optional<std::size_t> slurm_tasks_here(const Environment& environment) {
  const auto list = first_text(environment, {"SLURM_STEP_TASKS_PER_NODE", "SLURM_TASKS_PER_NODE"});
  const auto node = text_of(environment, "SLURM_NODEID");
  const auto index = node ? whole_number(*node) : std::nullopt;
  if (!list || !index) return std::nullopt;
  const std::vector<std::size_t> tasks = slurm_tasks(*list);
  if (*index >= tasks.size() || tasks[*index] == 0) return std::nullopt;
  return tasks[*index];
}

}  // namespace

const char* process_environment(const char* name) { return std::getenv(name); }

Placement find_placement(const WorkersAsked& asked, const Environment& environment) {
  // srun --mpi=pmi2 also sets the variables of an mpirun, whether the program uses MPI or not.
  const bool is_srun = slurm_step(environment) && !asks_for(asked, WorkerKind::mpi_ranks) &&
                       !text_of(environment, "OMPI_COMM_WORLD_RANK");
  const auto by_mpirun = is_srun ? std::nullopt : placed_by_mpirun(environment);
  // mpirun may also only start the processes of another transport, with the variables set.
  if (by_mpirun && !asks_for(asked, WorkerKind::processes)) {
    check_agrees(asked, *by_mpirun, "mpirun");
    return *by_mpirun;
  }
  if (const auto by_variables = placed_by_variables(asked, environment)) {
    check_agrees(asked, *by_variables, "RANK and WORLD_SIZE in the environment");
    return *by_variables;
  }
  if (by_mpirun) check_agrees(asked, *by_mpirun, "mpirun");
  if (const auto by_slurm = placed_by_slurm(asked, environment)) {
    check_agrees(asked, *by_slurm, "Slurm");
    return *by_slurm;
  }
  return placed_by_nobody(asked);
}

std::size_t workers_on_host(const Placement& placement, const Environment& environment) {
  if (placement.role == Role::one_worker) {
    for (const char* variable : {"LOCAL_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE"}) {
      const auto text = text_of(environment, variable);
      const auto workers = text ? whole_number(*text) : std::nullopt;
      if (workers && *workers > 0) return *workers;
    }
    if (const auto workers = slurm_tasks_here(environment)) return *workers;
  }
  return placement.size;
}

}  // namespace gradwire::launch
