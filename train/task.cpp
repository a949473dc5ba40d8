#include "train/task.h"

#include <utility>

#include "data/sampler.h"
#include "gradwire/core/error.h"
#include "gradwire/core/usage_error.h"

namespace gradwire::train {

Task::Task(std::shared_ptr<const data::Source> from, const TaskOptions& how)
    : source(std::move(from)), options(how) {
  const std::size_t workers = options.ranks - (options.dedicated_server ? 1 : 0);
  if (source->size(data::Part::train) < workers) {
    throw Error(source->name() + " has " + std::to_string(source->size(data::Part::train)) +
                " samples, too few for " + std::to_string(workers) + " workers");
  }
  if (options.balance && options.split.kind != data::Split::Kind::iid) {
    throw UsageError(
        "--balance needs the split iid, since all workers share the batch of every step; " +
        options.split.spec() + " gives each worker samples of its own");
  }
  shards = data::split_rows(options.split, source->labels(), workers, options.seed);
  steps_per_epoch_ =
      data::Sampler(shards, options.batch * options.accumulate, options.seed, 0).steps_per_epoch();
}

std::optional<std::size_t> Task::worker_of(std::size_t rank) const {
  if (rank == options.dedicated_server) return std::nullopt;
  return options.dedicated_server && rank > *options.dedicated_server ? rank - 1 : rank;
}

float Task::weight_of(std::size_t rank) const {
  const auto worker = worker_of(rank);
  return worker ? static_cast<float>(shards[*worker].weight) : 0.0F;
}

RatePlan Task::rate_plan(std::uint64_t steps) const {
  return {.schedule = options.schedule,
          .rate = options.learning_rate,
          .warmup_epochs = options.warmup_epochs,
          .steps_per_epoch = steps_per_epoch(),
          .steps = steps};
}

}  // namespace gradwire::train
