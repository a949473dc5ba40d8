// topk: the largest magnitudes of a tensor, exactly. topk_chunks.h has those of every chunk.
#include <algorithm>
#include <bit>
#include <cmath>

#include "gradwire/codec/selection.h"
#include "gradwire/codec/stage.h"
#include "gradwire/codec/topk_chunks.h"
#include "gradwire/kernel/sums.h"

namespace gradwire {
namespace {

constexpr std::uint32_t kLargestFinite = 0x7f7fffffu;
constexpr std::int64_t kChunkElementsMax = 65536;

// A threshold that, going by a sample, somewhat more than k of the elements are above.
class ThresholdSample {
 public:
  ThresholdSample(std::span<const float> tensor, std::size_t k, Scale::Facts& facts)
      : sample_(facts.sample), scratch_(facts.scratch) {
    // Eight neighbours share a cache line, and its price. Of a small tensor, too, only a small part
    // is looked at: going to random places costs far more than reading in order.
    constexpr std::size_t kSampleMax = 16384;
    constexpr std::size_t kSampledOf = 64;
    constexpr std::size_t kNeighbours = 8;
    constexpr RandomStream kPlaces{0x5bd1e995u, 0x9e3779b1u};
    sample_.clear();
    const std::size_t count = std::min(tensor.size() / kSampledOf, kSampleMax) / kNeighbours;
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::uint64_t random = kPlaces.at(i);
      const auto from = (random * (tensor.size() / kNeighbours) >> 32) * kNeighbours;
      for (const float value : tensor.subspan(from, kNeighbours)) {
        sample_.push_back(magnitude(value));
      }
    }
    const double expected = static_cast<double>(k) * static_cast<double>(sample_.size()) /
                            static_cast<double>(tensor.size());
    rank_ = static_cast<std::size_t>(expected + 4 * std::sqrt(expected) + 8);
  }

  // The next one is lower; the last one is 0. Never above the finite, so that what is not finite is
  // always found.
  std::uint32_t next() {
    if (rank_ >= sample_.size()) return 0;
    const std::uint32_t threshold = kth_largest(
        sample_.size(), [this](std::size_t i) { return sample_[i]; }, rank_ + 1, 0, scratch_);
    rank_ = 4 * rank_;
    return std::min(threshold, kLargestFinite);
  }

 private:
  std::vector<std::uint32_t>& sample_;
  std::vector<std::uint32_t>& scratch_;
  std::size_t rank_;
};

class TopK final : public Sparsifier {
 public:
  explicit TopK(double share) : share_(share) {}

  std::string spec() const override { return "topk(" + format_share(share_) + ")"; }
  std::size_t kept_max(std::size_t n) const override { return count_of_share(share_, n); }

  Guarantee guarantee(std::size_t elements, const Guarantee& values) const override {
    if (elements == 0) return Guarantee::contractive(1);
    const double share = static_cast<double>(kept_max(elements)) / static_cast<double>(elements);
    return topk_guarantee(share, values);
  }

  // Exact; among equal magnitudes the lower index is kept.
  void select(std::span<const float> tensor, const Rng&, Scale::Facts& facts,
              ThreadPool& pool) const override {
    check_length(tensor.size(), "topk");
    const std::size_t k = kept_max(tensor.size());
    facts.indices.clear();
    facts.values.clear();
    if (k == 0) return;
    ThresholdSample sample(tensor, k, facts);
    std::uint32_t threshold = 0;
    do {
      threshold = sample.next();
      select_all_above(tensor, threshold, facts, pool);
    } while (facts.indices.size() < k && threshold > 0);

    look_for_bad(k, facts);
    if (facts.indices.size() < k) {
      add_zeros(tensor, k, facts);
    } else {
      keep_largest(k, threshold, facts);
    }
  }

  bool goes_by_magnitude() const override { return true; }
  void select_collected(Scale::Facts& facts) const override {
    check_length(facts.tensor_elements, "topk");
    const std::size_t k = kept_max(facts.tensor_elements);
    look_for_bad(k, facts);
    if (facts.indices.size() > k) keep_largest(k, 0, facts);
  }

 private:
  static void look_for_bad(std::size_t k, Scale::Facts& facts) {
    const auto bad = static_cast<std::size_t>(
        std::count_if(facts.values.begin(), facts.values.end(),
                      [](float value) { return !kernel::is_finite_magnitude(magnitude(value)); }));
    facts.finite = bad == 0;
    facts.poisoned = bad > k;
  }

  static void keep_largest(std::size_t k, std::uint32_t threshold, Scale::Facts& facts) {
    const std::uint32_t least = kth_largest(
        facts.values.size(), [&](std::size_t i) { return magnitude(facts.values[i]); }, k,
        threshold, facts.scratch);
    std::size_t ties_left = k - static_cast<std::size_t>(std::count_if(
                                    facts.values.begin(), facts.values.end(),
                                    [least](float value) { return magnitude(value) > least; }));
    filter(facts, [&](std::uint32_t, float value) {
      const bool is_kept_tie = magnitude(value) == least && ties_left > 0;
      ties_left -= is_kept_tie ? 1 : 0;
      return is_kept_tie || magnitude(value) > least;
    });
  }

  // All that is not zero is kept already: the first zeros make up the number.
  static void add_zeros(std::span<const float> tensor, std::size_t k, Scale::Facts& facts) {
    std::size_t zeros_left = k - facts.indices.size();
    facts.indices.clear();
    facts.values.clear();
    for (std::size_t j = 0; j < tensor.size(); ++j) {
      if (magnitude(tensor[j]) == 0) {
        if (zeros_left == 0) continue;
        --zeros_left;
      }
      facts.indices.push_back(static_cast<std::uint32_t>(j));
      facts.values.push_back(tensor[j]);
    }
  }

  double share_;
};

SparsifierPtr make_topk(StageReader& stage) {
  const double share = stage.share("share");
  const auto chunk = static_cast<std::size_t>(stage.integer("chunk", 0, 1, kChunkElementsMax));
  stage.finish();
  if (chunk > 0) return make_chunked_topk(share, chunk);
  return std::make_unique<TopK>(share);
}

}  // namespace

CodecStage topk_stage() {
  return {.name = "topk", .make = make_topk, .examples = {"topk(1%)", "topk(1%, chunk=4096)"}};
}

}  // namespace gradwire
