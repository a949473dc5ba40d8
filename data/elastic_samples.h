// ElasticSamples: which samples a step uses, in a run whose members come and go. All members have
// the same object and change it by the same calls, so nobody has to send anybody a list.
//
// An epoch is a permutation of the data, by (seed, epoch). A step takes the next batch from it, and
// members share the batch: share i of n. So as long as nobody is lost, the samples of a step depend
// on the seed and the number of the step alone, and not on the number of members. The share of a
// member that is lost during a step goes to the end of the epoch, and a later step takes it. Every
// sample is used once in an epoch, whoever is lost. The last batch of an epoch may be smaller.
//
// The state is the epoch and a few ranges of the permutation: one, and one for each lost share that
// has not been taken again. For one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "gradwire/core/expected.h"

namespace gradwire::data {

// Positions in the permutation of an epoch, from `first` to before `end`.
struct PositionRange {
  std::uint32_t first = 0;
  std::uint32_t end = 0;

  bool operator==(const PositionRange&) const = default;
};

class ElasticSamples {
 public:
  // What a step has used.
  struct Used {
    std::uint64_t epoch = 0;
    std::vector<PositionRange> positions = {};  // rising where nothing was returned
  };

  // Of `samples` samples, in batches of `batch`. Both are above 0.
  ElasticSamples(std::size_t samples, std::size_t batch, std::uint64_t seed);

  // In steps, as long as nothing is returned.
  std::uint64_t steps_per_epoch() const { return (samples_ + batch_ - 1) / batch_; }

  std::uint64_t epoch() const { return epoch_; }  // of the present step
  std::size_t batch_size() const;                 // of the present step

  // The samples of share `share` of `shares` of the present step. Shares differ by one sample at
  // most, and may be empty. Valid until the next call of any function.
  std::span<const std::uint32_t> share(std::size_t share, std::size_t shares);

  // The present step is done: its batch was dealt out in `shares` shares, and nothing was learned
  // from the lost ones.
  Used finish_step(std::size_t shares, std::span<const std::size_t> lost_shares);

  // The same bytes on all members.
  std::vector<std::byte> save() const;
  // Accepts any bytes. Without success nothing has changed.
  Decoded<void> load(std::span<const std::byte> bytes);

 private:
  std::vector<PositionRange> front(std::size_t from, std::size_t end) const;
  void order_epoch();

  std::size_t samples_;
  std::size_t batch_;
  std::uint64_t seed_;
  std::uint64_t epoch_ = 0;
  std::vector<PositionRange> left_;   // of the epoch, in the order in which steps take them
  std::vector<std::uint32_t> order_;  // the permutation of the epoch
  std::vector<std::uint32_t> share_;
};

}  // namespace gradwire::data
