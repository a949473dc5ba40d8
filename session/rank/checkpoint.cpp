#include "session/rank/checkpoint.h"

#include <algorithm>
#include <cstring>
#include <ranges>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "gradwire/collective/all_gather.h"
#include "gradwire/core/error.h"
#include "gradwire/method/state_file.h"
#include "record/checkpoint_directory.h"
#include "record/fields.h"
#include "record/run_record.h"

namespace gradwire::session {
namespace {

using record::Json;

Progress progress_of(const Json& manifest, std::uint64_t step) {
  Progress progress{.step = step};
  if (!manifest.contains("metrics")) return progress;  // 0.1 did not write them for all models
  progress.metrics = record::metrics_from(record::field<Json>(manifest, "metrics"));
  progress.best = record::metrics_from(record::field<Json>(manifest, "best"));
  if (!record::field<Json>(manifest, "best_step").is_null()) {
    progress.best_step = record::field<std::uint64_t>(manifest, "best_step");
  }
  return progress;
}

// Rank 0's text, on all ranks.
std::string from_first(Communicator& communicator, const std::string& text) {
  constexpr std::size_t kBytesMax = std::size_t{1} << 20;
  AllGather board(communicator, {.name = "manifest", .bytes_max = kBytesMax});
  board.run({.author = 0, .own = std::as_bytes(std::span(text))});
  const auto bytes = board.from(0);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// The newest steps of every rank's checkpoints, by rank.
std::vector<std::set<std::uint64_t>> steps_of_ranks(
    Communicator& communicator, const std::vector<record::WholeCheckpoint>& own) {
  constexpr std::size_t kStepsMax = 1000;
  std::vector<std::uint64_t> steps;
  for (const record::WholeCheckpoint& each : own) steps.push_back(each.step);
  if (steps.size() > kStepsMax) steps.erase(steps.begin(), steps.end() - kStepsMax);
  AllGather board(communicator,
                  {.name = "checkpoints", .bytes_max = kStepsMax * sizeof(std::uint64_t)});
  board.run({.own = std::as_bytes(std::span(steps))});
  std::vector<std::set<std::uint64_t>> all;
  for (std::size_t rank = 0; rank < communicator.size(); ++rank) {
    const auto bytes = board.from(rank);
    std::vector<std::uint64_t> theirs(bytes.size() / sizeof(std::uint64_t));
    std::memcpy(theirs.data(), bytes.data(), theirs.size() * sizeof(std::uint64_t));
    all.emplace_back(theirs.begin(), theirs.end());
  }
  return all;
}

// The newest step that all ranks have. Nothing if no rank has any. Throws Error, on all ranks, if
// they have none in common.
std::optional<std::uint64_t> newest_common(Communicator& communicator,
                                           const CheckpointOptions& options,
                                           const std::vector<record::WholeCheckpoint>& own) {
  const auto all = steps_of_ranks(communicator, own);
  for (const std::uint64_t step : std::views::reverse(all.front())) {
    if (std::ranges::all_of(all, [&](const auto& steps) { return steps.contains(step); })) {
      return step;
    }
  }
  if (std::ranges::all_of(all, [](const auto& steps) { return steps.empty(); })) {
    return std::nullopt;
  }
  std::string list;
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    list += (rank == 0 ? "rank " : ", rank ") + std::to_string(rank) +
            (all[rank].empty() ? " has none" : " has step " + std::to_string(*all[rank].rbegin()));
  }
  throw Error("the ranks have no checkpoint in common in " + options.directory.string() + ": " +
              list +
              ". Copy the directory of a missing checkpoint to its host, or give "
              "--overwrite to start again");
}

}  // namespace

void save_checkpoint(Communicator& communicator, const CheckpointOptions& options,
                     const Method& method, Trainee& trainee, const Progress& progress) {
  const auto directory = record::begin_checkpoint(options.directory, progress.step);
  save_method(method, directory, communicator.rank(), communicator.size());
  Json own = trainee.save(directory, options.leads_disk);
  own["metrics"] = record::to_json(progress.metrics);
  own["best_step"] = progress.best_step ? Json(*progress.best_step) : Json();
  own["best"] = record::to_json(progress.best);
  const Json manifest = Json::parse(from_first(communicator, own.dump()));
  communicator.barrier();  // all files are written
  if (options.leads_disk) {
    record::complete_checkpoint(directory, progress.step, options.configuration, manifest);
  }
  communicator.barrier();  // no disk loses an old checkpoint before all have the new one
  if (!options.leads_disk) return;
  const Json& best = manifest["best_step"];
  record::remove_old_checkpoints(
      options.directory, options.kept,
      best.is_null() ? std::nullopt : std::optional(best.get<std::uint64_t>()));
}

std::optional<Progress> load_checkpoint(Communicator& communicator,
                                        const CheckpointOptions& options, std::uint64_t steps,
                                        Method& method, Trainee& trainee) {
  const auto found = record::whole_checkpoints(options.directory);
  const auto step = newest_common(communicator, options, found);
  if (!step) return std::nullopt;
  const record::WholeCheckpoint& newest =
      *std::ranges::find(found, *step, &record::WholeCheckpoint::step);
  const Json manifest = record::read_manifest(newest, options.configuration);
  if (newest.step > steps) {
    throw Error("the newest checkpoint in " + options.directory.string() + " is that of step " +
                std::to_string(newest.step) + ", which is after the last one asked for, " +
                std::to_string(steps) + ": ask for more steps, or for another directory");
  }
  load_method(method, newest.directory, communicator.rank(), communicator.size());
  trainee.load(newest.directory, newest.step, manifest);
  return progress_of(manifest, newest.step);
}

}  // namespace gradwire::session
