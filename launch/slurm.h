// What Slurm says about a job, in its own short forms. Pure functions.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace gradwire::launch {

// The hosts of SLURM_JOB_NODELIST: "gpu[01-03,7],login" is gpu01, gpu02, gpu03, gpu7 and login. A
// name may have several brackets. Throws UsageError for a text that is no list of hosts.
std::vector<std::string> slurm_hosts(std::string_view list);

// The tasks of each node, as in SLURM_STEP_TASKS_PER_NODE: "2(x3),1" is 2, 2, 2 and 1. Throws
// UsageError.
std::vector<std::size_t> slurm_tasks(std::string_view list);

}  // namespace gradwire::launch
