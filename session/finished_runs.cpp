#include "session/finished_runs.h"

#include <algorithm>
#include <array>

#include "gradwire/collective/rank_sums.h"

namespace gradwire::session {
namespace {

bool is_part_of(const record::Json& fields, const record::Json& all) {
  return std::ranges::all_of(fields.items(), [&](const auto& field) {
    return all.contains(field.key()) && all[field.key()] == field.value();
  });
}

}  // namespace

bool take_finished(Communicator& communicator, const std::filesystem::path& directory,
                   const record::Json& configuration, std::uint64_t steps,
                   std::vector<FinishedRun>& runs) {
  std::uint64_t found = 0;
  if (communicator.rank() == 0 && std::filesystem::exists(directory / record::kRunFile)) {
    FinishedRun run{.directory = directory,
                    .record = record::read_run(directory / record::kRunFile),
                    .steps = record::read_steps(directory / record::kStepsFile)};
    if (run.record.steps == steps && is_part_of(configuration, run.record.configuration)) {
      runs.push_back(std::move(run));
      found = 1;
    }
  }
  return sum_over_ranks(communicator, std::array{found})[0] > 0;
}

}  // namespace gradwire::session
