// SharedSampler: the samples of one worker, if workers share every step's batch in proportion to
// their speeds (balance.h). The batch of a step is a function of the data, the batch size and the
// seed alone: an epoch is a permutation of all samples, cut into batches of almost equal size. The
// shares decide who computes which part of it. For one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "data/batch_source.h"

namespace gradwire::data {

class SharedSampler final : public BatchSource {
 public:
  // `batch` is that of all workers together. Starts with even shares.
  SharedSampler(std::size_t samples, std::size_t batch, std::uint64_t seed, std::size_t worker,
                std::size_t workers);

  std::uint64_t steps_per_epoch() const { return steps_per_epoch_; }

  // The worker's part of a batch, in proportion to all workers' shares. Their sum is above 0.
  void set_shares(std::span<const std::uint32_t> shares);

  std::span<const std::uint32_t> at(std::uint64_t step) override;
  float weight(std::uint64_t step) const override;

 private:
  std::size_t batch_first(std::uint64_t step_of_epoch) const;
  // Where the worker's part of a batch of this size begins, and the one behind it.
  std::size_t cut_before(std::size_t worker, std::size_t batch_size) const;
  std::size_t batch_size(std::uint64_t step) const;
  void order_epoch(std::uint64_t epoch);

  std::size_t samples_;
  std::uint64_t seed_;
  std::size_t worker_;
  std::uint64_t steps_per_epoch_;
  std::vector<std::uint64_t> shares_before_;  // of the workers before each worker, and of all
  std::uint64_t epoch_ = 0;                   // whose order this is
  std::vector<std::uint32_t> order_;
};

}  // namespace gradwire::data
