#include "data/sampler.h"

#include "data/draws.h"
#include "gradwire/core/check.h"

namespace gradwire::data {
namespace {

std::size_t samples_of(std::span<const Shard> shards) {
  std::size_t samples = 0;
  for (const Shard& shard : shards) samples += shard.rows.size();
  return samples;
}

std::uint64_t steps_of(std::span<const Shard> shards, std::size_t batch) {
  GW_CHECK(batch > 0);
  const std::size_t samples = samples_of(shards);
  GW_CHECK(samples > 0);
  const std::size_t worker_samples = (samples + shards.size() - 1) / shards.size();
  return (worker_samples + batch - 1) / batch;  // ceil(samples / (workers * batch))
}

// Where a shard is cut before a step.
std::size_t cut_before(const Shard& shard, std::uint64_t step, std::uint64_t steps) {
  return shard.rows.size() * step / steps;
}

}  // namespace

Sampler::Sampler(std::span<const Shard> shards, std::size_t batch, std::uint64_t seed,
                 std::size_t rank)
    : shards_(shards), seed_(seed), rank_(rank), steps_per_epoch_(steps_of(shards, batch)) {
  GW_CHECK(rank < shards.size());
  order_epoch(0);
}

std::uint64_t Sampler::steps_per_epoch() const { return steps_per_epoch_; }

std::span<const std::uint32_t> Sampler::at(std::uint64_t step) {
  if (step / steps_per_epoch_ != epoch_) order_epoch(step / steps_per_epoch_);
  const std::uint64_t step_of_epoch = step % steps_per_epoch_;
  return std::span(order_).subspan(cut_before(shards_[rank_], step_of_epoch, steps_per_epoch_),
                                   batch_size(rank_, step_of_epoch));
}

float Sampler::weight(std::uint64_t step) const {
  const std::uint64_t step_of_epoch = step % steps_per_epoch_;
  // Never 0 in all: the largest shard has a sample for every step, since there are no more steps
  // than its rows.
  std::size_t all = 0;
  for (std::size_t rank = 0; rank < shards_.size(); ++rank) all += batch_size(rank, step_of_epoch);
  return static_cast<float>(static_cast<double>(batch_size(rank_, step_of_epoch)) *
                            static_cast<double>(shards_.size()) / static_cast<double>(all));
}

std::size_t Sampler::batch_size(std::size_t rank, std::uint64_t step_of_epoch) const {
  return cut_before(shards_[rank], step_of_epoch + 1, steps_per_epoch_) -
         cut_before(shards_[rank], step_of_epoch, steps_per_epoch_);
}

void Sampler::order_epoch(std::uint64_t epoch) {
  epoch_ = epoch;
  order_ = shards_[rank_].rows;
  Draws draws({.seed = seed_,
               .step = epoch,
               .tensor = Rng::tensor_id("order of samples"),
               .rank = static_cast<std::uint32_t>(rank_),
               .purpose = Purpose::data});
  draws.shuffle(std::span(order_));
}

}  // namespace gradwire::data
