#include "launch/placement.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <system_error>
#include <vector>

#include "gradwire/core/usage_error.h"

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
    throw UsageError(fmt::format("{}={} in the environment is no whole number from {} to {}",
                                 variable, text, least, most));
  }
  return *number;
}

// The rank and the size that a pair of variables gives, if it is there.
std::optional<Placement> placed_by(const Environment& environment, const char* rank_variable,
                                   const char* size_variable, TransportKind transport) {
  const auto size_text = text_of(environment, size_variable);
  const auto rank_text = text_of(environment, rank_variable);
  if (!size_text || !rank_text) return std::nullopt;
  Placement placement{.role = Role::one_worker, .transport = transport};
  placement.size = number_of(*size_text, size_variable, 1, UINT32_MAX);
  placement.rank = number_of(*rank_text, rank_variable, 0, placement.size - 1);
  return placement;
}

std::optional<Placement> placed_by_mpirun(const Environment& environment) {
  auto placement =
      placed_by(environment, "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",  // Open MPI
                TransportKind::mpi);
  if (!placement) placement = placed_by(environment, "PMI_RANK", "PMI_SIZE", TransportKind::mpi);
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

// As torchrun and most schedulers say it.
std::optional<Placement> placed_by_variables(const Environment& environment) {
  if (!text_of(environment, "RANK") && !text_of(environment, "WORLD_SIZE")) return std::nullopt;
  check_all_are_set(environment);
  auto placement = placed_by(environment, "RANK", "WORLD_SIZE", TransportKind::gloo);
  placement->master_host = *text_of(environment, "MASTER_ADDR");
  // torchrun's agent itself listens on the port that it names; the one behind it is ours.
  const std::uint64_t above =
      text_of(environment, "TORCHELASTIC_USE_AGENT_STORE") == "True" ? 1 : 0;
  placement->master_port = static_cast<std::uint16_t>(
      above + number_of(*text_of(environment, "MASTER_PORT"), "MASTER_PORT", 1, kPortMax - above));
  return placement;
}

Placement placed_by_nobody(const WorkersAsked& asked) {
  Placement placement{.transport = asked.transport.value_or(TransportKind::in_process),
                      .size = asked.workers.value_or(asked.workers_default)};
  if (placement.transport == TransportKind::mpi) {
    throw UsageError("MPI's workers are started by mpirun: 'mpirun -n 4 gradwire ...'");
  }
  if (placement.transport == TransportKind::gloo) placement.role = Role::starter;
  return placement;
}

void check_agrees(const WorkersAsked& asked, const Placement& placement, std::string_view who) {
  if (asked.transport && *asked.transport != placement.transport) {
    throw UsageError(fmt::format("--transport {} contradicts {}: the workers meet by {}",
                                 name(*asked.transport), who, name(placement.transport)));
  }
  if (asked.workers && *asked.workers != placement.size) {
    throw UsageError(fmt::format("--workers {} contradicts {}: the number of workers is {}",
                                 *asked.workers, who, placement.size));
  }
}

}  // namespace

const char* name(TransportKind transport) {
  switch (transport) {
    case TransportKind::in_process:
      return "in-process";
    case TransportKind::gloo:
      return "gloo";
    case TransportKind::mpi:
      return "mpi";
  }
  return "";
}

const char* process_environment(const char* name) { return std::getenv(name); }

Placement find_placement(const WorkersAsked& asked, const Environment& environment) {
  const auto by_mpirun = placed_by_mpirun(environment);
  // Who asks for Gloo may also use mpirun only to start the processes, and set the variables.
  if (by_mpirun && asked.transport != TransportKind::gloo) {
    check_agrees(asked, *by_mpirun, "mpirun");
    return *by_mpirun;
  }
  if (const auto by_variables = placed_by_variables(environment)) {
    check_agrees(asked, *by_variables, "RANK and WORLD_SIZE in the environment");
    return *by_variables;
  }
  if (by_mpirun) check_agrees(asked, *by_mpirun, "mpirun");
  return placed_by_nobody(asked);
}

std::size_t workers_on_host(const Placement& placement, const Environment& environment) {
  if (placement.role == Role::one_worker) {
    for (const char* variable : {"LOCAL_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE"}) {
      const auto text = text_of(environment, variable);
      const auto workers = text ? whole_number(*text) : std::nullopt;
      if (workers && *workers > 0) return *workers;
    }
  }
  return placement.size;
}

}  // namespace gradwire::launch
