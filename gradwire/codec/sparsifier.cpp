#include "gradwire/codec/sparsifier.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "gradwire/core/error.h"
#include "gradwire/kernel/select.h"
#include "gradwire/kernel/sums.h"

namespace gradwire {
namespace {

constexpr std::uint32_t kLargestFinite = 0x7f7fffffu;
constexpr std::size_t kTensorElementsMax = std::numeric_limits<std::uint32_t>::max();

std::uint32_t magnitude(float value) { return std::bit_cast<std::uint32_t>(value) & 0x7fffffffu; }

// The number of elements that make up a share of n, rounded up.
std::size_t count_of_share(double share, std::size_t n) {
  const double exact = share * static_cast<double>(n);
  return std::min(n, static_cast<std::size_t>(std::ceil(exact * (1 - 1e-12))));
}

void check_length(std::size_t elements, std::string_view stage) {
  if (elements <= kTensorElementsMax) return;
  throw Error(std::string(stage) + " takes tensors of fewer than 2^32 elements, not " +
              std::to_string(elements) + ": cut the tensor before");
}

// Resizes without giving memory back, and takes more than asked for: the numbers of candidates vary
// from call to call, and steady work should not allocate.
template <class T>
void resize_amply(std::vector<T>& memory, std::size_t count) {
  if (memory.capacity() < count) memory.reserve(count + count / 4);
  memory.resize(count);
}

// Room for `count` more elements behind the first `used`.
template <class T>
std::span<T> room_behind(std::vector<T>& memory, std::size_t used, std::size_t count) {
  if (memory.size() < used + count) resize_amply(memory, used + count + used / 4);
  return std::span<T>(memory).subspan(used);
}

// Keeps every element with a magnitude above the threshold.
void select_all_above(std::span<const float> tensor, std::uint32_t threshold, Scale& scale) {
  std::size_t kept = 0;
  kernel::for_blocks(
      tensor, [&](std::size_t first, std::span<const float> block, const kernel::Ahead& ahead) {
        const std::size_t room = block.size() + kernel::kSelectRoom;
        const auto indices = room_behind(scale.indices, kept, room);
        const std::size_t found = kernel::select_above(
            block, threshold, static_cast<std::uint32_t>(first), indices, ahead);
        const auto values = room_behind(scale.values, kept, found);
        for (std::size_t i = 0; i < found; ++i) values[i] = tensor[indices[i]];
        kept += found;
      });
  scale.indices.resize(kept);
  scale.values.resize(kept);
}

// Keeps those elements of the selection for which keep(index, value) says so, in order.
template <class Keep>
void filter(Scale& scale, const Keep& keep) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < scale.indices.size(); ++i) {
    const std::uint32_t index = scale.indices[i];
    const float value = scale.values[i];
    scale.indices[kept] = index;
    scale.values[kept] = value;
    kept += keep(index, value) ? 1 : 0;  // no branch: it would be hard to predict
  }
  scale.indices.resize(kept);
  scale.values.resize(kept);
}

// The k-th largest of the magnitudes, none of which is below `least`. Counting by their upper bits
// first leaves few to sort. Changes the order of the magnitudes.
std::uint32_t kth_largest(std::span<std::uint32_t> magnitudes, std::size_t k, std::uint32_t least) {
  constexpr std::size_t kBins = 4096;
  std::uint32_t counts[kBins] = {};
  const std::uint32_t span = *std::max_element(magnitudes.begin(), magnitudes.end()) - least;
  const int shift = std::max(0, static_cast<int>(std::bit_width(span)) - 12);
  for (const std::uint32_t bits : magnitudes) ++counts[(bits - least) >> shift];
  std::size_t bin = kBins - 1;
  for (; counts[bin] < k; --bin) k -= counts[bin];
  const auto end = std::partition(magnitudes.begin(), magnitudes.end(), [&](std::uint32_t bits) {
    return (bits - least) >> shift == bin;
  });
  const auto kth = magnitudes.begin() + static_cast<std::ptrdiff_t>(k - 1);
  std::nth_element(magnitudes.begin(), kth, end, std::greater<>());
  return *kth;
}

// A threshold that, going by a sample, somewhat more than k of the elements are above.
class ThresholdSample {
 public:
  ThresholdSample(std::span<const float> tensor, std::size_t k, std::vector<std::uint32_t>& memory)
      : sample_(memory) {
    // Four neighbours share a cache line, and its price.
    constexpr std::size_t kSample = 16384;
    constexpr std::size_t kNeighbours = 4;
    constexpr RandomStream kPlaces{0x5bd1e995u, 0x9e3779b1u};
    sample_.clear();
    const std::size_t count = std::min(tensor.size() / kNeighbours, kSample / kNeighbours);
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
    const auto nth = sample_.begin() + static_cast<std::ptrdiff_t>(rank_);
    std::nth_element(sample_.begin(), nth, sample_.end(), std::greater<>());
    const std::uint32_t threshold = std::min(*nth, kLargestFinite);
    rank_ = 4 * rank_;
    return threshold;
  }

 private:
  std::vector<std::uint32_t>& sample_;
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
    // The kept part has at least its share of |x|^2, and only that part has the second error.
    if (values.kind == Guarantee::Kind::contractive) {
      return Guarantee::contractive(values.constant * share);
    }
    if (values.kind == Guarantee::Kind::unbiased && values.constant < 1) {
      return Guarantee::contractive((1 - values.constant) * share);
    }
    if (values.kind == Guarantee::Kind::unbiased) {
      return Guarantee::none(
          "the stage behind topk has omega >= 1: its noise may be larger than "
          "what topk keeps");
    }
    return values;
  }

  // Exact; among equal magnitudes the lower index is kept.
  void select(std::span<const float> tensor, const Rng&, Scale& scale) const override {
    check_length(tensor.size(), "topk");
    const std::size_t k = kept_max(tensor.size());
    scale.indices.clear();
    scale.values.clear();
    if (k == 0) return;
    ThresholdSample sample(tensor, k, scale.scratch);
    std::uint32_t threshold = 0;
    do {
      threshold = sample.next();
      select_all_above(tensor, threshold, scale);
    } while (scale.indices.size() < k && threshold > 0);

    const auto bad = static_cast<std::size_t>(
        std::count_if(scale.values.begin(), scale.values.end(),
                      [](float value) { return !kernel::is_finite_magnitude(magnitude(value)); }));
    scale.finite = bad == 0;
    scale.poisoned = bad > k;
    if (scale.indices.size() < k) {
      add_zeros(tensor, k, scale);
    } else {
      keep_largest(k, threshold, scale);
    }
  }

 private:
  static void keep_largest(std::size_t k, std::uint32_t threshold, Scale& scale) {
    std::vector<std::uint32_t>& magnitudes = scale.scratch;
    resize_amply(magnitudes, scale.values.size());
    std::transform(scale.values.begin(), scale.values.end(), magnitudes.begin(), magnitude);
    const std::uint32_t least = kth_largest(magnitudes, k, threshold);
    std::size_t ties_left = k - static_cast<std::size_t>(std::count_if(
                                    scale.values.begin(), scale.values.end(),
                                    [least](float value) { return magnitude(value) > least; }));
    filter(scale, [&](std::uint32_t, float value) {
      const bool is_kept_tie = magnitude(value) == least && ties_left > 0;
      ties_left -= is_kept_tie ? 1 : 0;
      return is_kept_tie || magnitude(value) > least;
    });
  }

  // All that is not zero is kept already: the first zeros make up the number.
  static void add_zeros(std::span<const float> tensor, std::size_t k, Scale& scale) {
    std::size_t zeros_left = k - scale.indices.size();
    scale.indices.clear();
    scale.values.clear();
    for (std::size_t j = 0; j < tensor.size(); ++j) {
      if (magnitude(tensor[j]) == 0) {
        if (zeros_left == 0) continue;
        --zeros_left;
      }
      scale.indices.push_back(static_cast<std::uint32_t>(j));
      scale.values.push_back(tensor[j]);
    }
  }

  double share_;
};

class RandK final : public Sparsifier {
 public:
  RandK(double share, bool shared_seed) : share_(share), shared_seed_(shared_seed) {}

  std::string spec() const override {
    return "randk(" + format_share(share_) + (shared_seed_ ? ", seed=shared)" : ")");
  }
  std::size_t kept_max(std::size_t n) const override { return count_of_share(share_, n); }

  Guarantee guarantee(std::size_t elements, const Guarantee& values) const override {
    if (elements == 0) return Guarantee::unbiased(0);
    const double omega =
        static_cast<double>(elements) / static_cast<double>(kept_max(elements)) - 1;
    if (values.kind == Guarantee::Kind::unbiased) {
      return Guarantee::unbiased(omega * values.constant + omega + values.constant);
    }
    return values.kind == Guarantee::Kind::none
               ? values
               : Guarantee::none("the stage behind randk has a bias, and randk magnifies it");
  }

  bool places_are_random() const override { return true; }

  // Every element has a random place of its own; those with the k lowest are kept.
  void select(std::span<const float> tensor, const Rng& rng, Scale& scale) const override {
    check_length(tensor.size(), "randk");
    const std::size_t k = kept_max(tensor.size());
    scale.finite = kernel::is_finite_magnitude(kernel::largest_magnitude(tensor));
    scale.poisoned = !scale.finite;  // which elements were bad is lost with their places
    scale.places = (shared_seed_ ? rng.shared() : rng).stream(kStage, 0);
    scale.indices.clear();
    scale.values.clear();
    if (k == 0) return;

    const auto n = static_cast<double>(tensor.size());
    double hoped_for = static_cast<double>(k) + 5 * std::sqrt(static_cast<double>(k)) + 16;
    do {
      const double last = std::min(hoped_for / n, 1.0) * 0x1p32 - 1;
      select_up_to(static_cast<std::uint32_t>(last), tensor.size(), scale);
      hoped_for *= 2;
    } while (scale.indices.size() < k);

    resize_amply(scale.scratch, scale.indices.size());
    std::transform(scale.indices.begin(), scale.indices.end(), scale.scratch.begin(),
                   [&](std::uint32_t index) { return scale.places.at(index); });
    const auto last = scale.scratch.begin() + static_cast<std::ptrdiff_t>(k - 1);
    std::nth_element(scale.scratch.begin(), last, scale.scratch.end());
    scale.places_last = *last;
    resize_amply(scale.values, scale.indices.size());
    filter(scale,
           [&](std::uint32_t index, float) { return scale.places.at(index) <= scale.places_last; });
    const auto factor = static_cast<float>(n / static_cast<double>(k));
    constexpr float kMost = std::numeric_limits<float>::max();
    std::transform(
        scale.indices.begin(), scale.indices.end(), scale.values.begin(),
        [&](std::uint32_t index) { return std::clamp(tensor[index] * factor, -kMost, kMost); });
  }

 private:
  static constexpr std::uint32_t kStage = 0;

  static void select_up_to(std::uint32_t last, std::size_t elements, Scale& scale) {
    std::size_t kept = 0;
    for (std::size_t first = 0; first < elements; first += kernel::kBlockElements) {
      const std::size_t count = std::min(kernel::kBlockElements, elements - first);
      kept += kernel::select_places(scale.places.advanced(first), last, count,
                                    static_cast<std::uint32_t>(first),
                                    room_behind(scale.indices, kept, count + kernel::kSelectRoom));
    }
    scale.indices.resize(kept);
  }

  double share_;
  bool shared_seed_;
};

class Threshold final : public Sparsifier {
 public:
  explicit Threshold(double value) : value_(value) {}

  std::string spec() const override { return "threshold(" + format_number(value_) + ")"; }
  std::size_t kept_max(std::size_t n) const override { return n; }

  Guarantee guarantee(std::size_t, const Guarantee&) const override {
    return Guarantee::none("how much is kept depends on the values: it may be nothing");
  }

  void select(std::span<const float> tensor, const Rng&, Scale& scale) const override {
    check_length(tensor.size(), "threshold");
    select_all_above(tensor, magnitude(static_cast<float>(value_)) - 1, scale);
    scale.finite = std::all_of(scale.values.begin(), scale.values.end(), [](float value) {
      return kernel::is_finite_magnitude(magnitude(value));
    });
  }

 private:
  double value_;  // above zero; elements of this magnitude and more are kept
};

}  // namespace

SparsifierPtr make_topk(StageReader& stage) {
  const double share = stage.share("share");
  stage.finish();
  return std::make_unique<TopK>(share);
}

SparsifierPtr make_randk(StageReader& stage) {
  const double share = stage.share("share");
  const bool shared = stage.word("seed", {"own", "shared"}) == "shared";
  stage.finish();
  return std::make_unique<RandK>(share, shared);
}

SparsifierPtr make_threshold(StageReader& stage) {
  const auto value = stage.number("value", 1e-37, 3e38);
  stage.finish();
  if (!value) stage.fail("threshold needs a value: threshold(0.01)");
  return std::make_unique<Threshold>(*value);
}

}  // namespace gradwire
