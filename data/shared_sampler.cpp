#include "data/shared_sampler.h"

#include <numeric>

#include "data/draws.h"
#include "gradwire/core/check.h"

namespace gradwire::data {

SharedSampler::SharedSampler(std::size_t samples, std::size_t batch, std::uint64_t seed,
                             std::size_t worker, std::size_t workers)
    : samples_(samples), seed_(seed), worker_(worker) {
  GW_CHECK(samples > 0 && batch > 0 && worker < workers);
  steps_per_epoch_ = (samples + batch - 1) / batch;
  set_shares(std::vector<std::uint32_t>(workers, 1));
  order_epoch(0);
}

void SharedSampler::set_shares(std::span<const std::uint32_t> shares) {
  GW_CHECK(worker_ < shares.size());
  shares_before_.assign(1, 0);
  for (const std::uint32_t share : shares) shares_before_.push_back(shares_before_.back() + share);
  GW_CHECK(shares_before_.back() > 0);
}

std::span<const std::uint32_t> SharedSampler::at(std::uint64_t step) {
  if (step / steps_per_epoch_ != epoch_) order_epoch(step / steps_per_epoch_);
  const std::size_t size = batch_size(step);
  const std::size_t first = cut_before(worker_, size);
  return std::span(order_).subspan(batch_first(step % steps_per_epoch_) + first,
                                   cut_before(worker_ + 1, size) - first);
}

float SharedSampler::weight(std::uint64_t step) const {
  const std::size_t size = batch_size(step);
  const std::size_t own = cut_before(worker_ + 1, size) - cut_before(worker_, size);
  const auto workers = static_cast<double>(shares_before_.size() - 1);
  return static_cast<float>(static_cast<double>(own) * workers / static_cast<double>(size));
}

std::size_t SharedSampler::batch_first(std::uint64_t step_of_epoch) const {
  return samples_ * step_of_epoch / steps_per_epoch_;
}

std::size_t SharedSampler::cut_before(std::size_t worker, std::size_t batch_size) const {
  return batch_size * shares_before_[worker] / shares_before_.back();
}

std::size_t SharedSampler::batch_size(std::uint64_t step) const {
  const std::uint64_t step_of_epoch = step % steps_per_epoch_;
  return batch_first(step_of_epoch + 1) - batch_first(step_of_epoch);
}

void SharedSampler::order_epoch(std::uint64_t epoch) {
  epoch_ = epoch;
  order_.resize(samples_);
  std::iota(order_.begin(), order_.end(), 0u);
  Draws draws({.seed = seed_,
               .step = epoch,
               .tensor = Rng::tensor_id("order of all samples"),
               .purpose = Purpose::data});
  draws.shuffle(std::span(order_));
}

}  // namespace gradwire::data
