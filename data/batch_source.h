// BatchSource: the samples of one worker's batch at each step, and their weight in the mean over
// the workers. For one thread.
#pragma once

#include <cstdint>
#include <span>

namespace gradwire::data {

class BatchSource {
 public:
  virtual ~BatchSource() = default;

  // The samples of this worker at a step, from 0 on. Valid until the next call.
  virtual std::span<const std::uint32_t> at(std::uint64_t step) = 0;

  // What this worker's mean gradient counts in the mean over the workers at a step: its samples
  // over the mean of all workers' samples. The weights of all workers average to 1.
  virtual float weight(std::uint64_t step) const = 0;
};

}  // namespace gradwire::data
