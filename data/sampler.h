// Sampler: which samples a worker's batch has at which step. A pure function of shards, batch size,
// seed, rank and step, so that a run can go on at any step. For one thread; shards must outlive it.
//
// An epoch has as many steps as it takes to show all samples in batches of at most `batch` a worker
// on average: ceil(all samples / (workers * batch)). Every worker shuffles its shard anew for every
// epoch and cuts it into that many batches of almost equal size, so uneven shards give equal steps
// and uneven batches, and every sample is seen once an epoch. A batch may be empty.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "data/batch_source.h"
#include "data/split.h"

namespace gradwire::data {

class Sampler final : public BatchSource {
 public:
  Sampler(std::span<const Shard> shards, std::size_t batch, std::uint64_t seed, std::size_t rank);

  std::uint64_t steps_per_epoch() const;

  std::span<const std::uint32_t> at(std::uint64_t step) override;
  float weight(std::uint64_t step) const override;

 private:
  std::size_t batch_size(std::size_t rank, std::uint64_t step_of_epoch) const;
  // Makes the order of an epoch the one that is kept.
  void order_epoch(std::uint64_t epoch);

  std::span<const Shard> shards_;
  std::uint64_t seed_;
  std::size_t rank_;
  std::uint64_t steps_per_epoch_;
  std::uint64_t epoch_ = 0;  // whose order this is
  std::vector<std::uint32_t> order_;
};

}  // namespace gradwire::data
