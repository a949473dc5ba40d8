#include "convex/experiment.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "gradwire/core/error.h"

namespace gradwire::convex {
namespace {

data::Dataset prepare(data::Dataset data, Loss loss) {
  if (loss == Loss::logistic) data::map_labels_to_signs(data);
  return data;
}

std::vector<data::Shard> shards_by_rank(const data::Dataset& data,
                                        const ExperimentOptions& options) {
  const std::size_t workers = options.ranks - (options.dedicated_server ? 1 : 0);
  std::vector<data::Shard> shards =
      data::split_rows(options.split, data.labels, workers, options.seed);
  if (options.dedicated_server) {
    shards.insert(shards.begin() + static_cast<std::ptrdiff_t>(*options.dedicated_server),
                  data::Shard{});
  }
  return shards;
}

}  // namespace

Experiment::Experiment(data::Dataset data, const ExperimentOptions& options)
    : data_(prepare(std::move(data), options.loss)),
      loss_smoothness_(convex::smoothness(data_, options.loss, data::all_rows(data_))),
      problem_(data_, options.loss, options.l2.value(loss_smoothness_)),
      objective_{problem_, options.regulariser},
      shards_(shards_by_rank(data_, options)),
      workers_(options.ranks - (options.dedicated_server ? 1 : 0)),
      smoothness_(loss_smoothness_ + problem_.l2()) {
  if (!std::isfinite(loss_smoothness_) || loss_smoothness_ <= 0) {
    throw Error("the data have no slope to follow: all values are zero, or too large for doubles");
  }
}

StepFacts Experiment::step_facts() const {
  StepFacts facts{.smoothness = 0, .convexity = objective_.convexity(), .workers = workers_};
  for (const data::Shard& shard : shards_) {
    const double own = convex::smoothness(data_, problem_.loss(), shard.rows) + problem_.l2();
    facts.smoothness = std::max(facts.smoothness, shard.weight * own);
  }
  return facts;
}

}  // namespace gradwire::convex
