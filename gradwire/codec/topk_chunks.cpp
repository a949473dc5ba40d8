#include "gradwire/codec/topk_chunks.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "gradwire/codec/selection.h"
#include "gradwire/codec/spec.h"
#include "gradwire/kernel/select.h"
#include "gradwire/kernel/sums.h"

namespace gradwire {
namespace {

constexpr std::uint32_t kLargestFinite = 0x7f7fffffu;

// A threshold that somewhat more than k elements of the next chunk should be above, going by the
// chunks before. It is a guess: it decides how long the search takes, not what is found. Magnitude
// bits are close to logarithms, so that adding to them multiplies.
class ThresholdGuess {
 public:
  explicit ThresholdGuess(std::size_t k)
      : target_(static_cast<std::int64_t>(static_cast<double>(k) +
                                          4 * std::sqrt(static_cast<double>(k)) + 4)) {}

  // Never above the finite, so that what is not finite is always found.
  std::uint32_t bits() const { return static_cast<std::uint32_t>(bits_); }

  // Too few were found in this chunk: the next try is lower, and the last one is 0.
  void lower() {
    bits_ = std::max<std::int64_t>(0, bits_ - down_);
    down_ *= 2;
  }
  // So many were found in a chunk, and the least of those that were kept has these bits.
  void found(std::size_t count, std::uint32_t least) {
    const auto more = static_cast<std::int64_t>(count) - target_;
    if (more > 2 * target_) {
      bits_ = std::int64_t{least} - kOctave / 8;
    } else {
      bits_ += more * (kOctave / 8) / target_;
    }
    bits_ = std::clamp<std::int64_t>(bits_, 0, kLargestFinite);
    down_ = kOctave / 4;
  }

 private:
  static constexpr std::int64_t kOctave = std::int64_t{1} << 23;

  std::int64_t target_;
  std::int64_t bits_ = 0;
  std::int64_t down_ = kOctave / 4;
};

// Writes the index of every magnitude above the threshold behind the first `kept` of `indices`.
// Indices count from `first_index`, which is the chunk's. Returns how many.
std::size_t find_above(std::span<const float> chunk, std::uint32_t threshold,
                       std::uint32_t first_index, const kernel::Ahead& ahead, std::size_t kept,
                       std::vector<std::uint32_t>& indices) {
  std::size_t found = 0;
  for (std::size_t first = 0; first < chunk.size(); first += kernel::kBlockElements) {
    const auto block = chunk.subspan(first, std::min(kernel::kBlockElements, chunk.size() - first));
    const auto room = room_behind(indices, kept + found, block.size() + kernel::kSelectRoom);
    found += kernel::select_above(block, threshold, first_index + static_cast<std::uint32_t>(first),
                                  room, ahead);
  }
  return found;
}

// While a chunk is worked on, memory can fetch what comes a block later: see kernel/block.h. The
// chunk is a part of a block, and asks for the same part of the next.
kernel::Ahead ahead_of(std::span<const float> values, std::size_t first, std::size_t chunk) {
  constexpr std::size_t kLineElements = 64 / sizeof(float);
  constexpr std::size_t kStride = kernel::kBlockPages * kLineElements;
  if (chunk % kStride != 0 || kernel::kBlockElements % chunk != 0) return {};
  const std::size_t block = first / kernel::kBlockElements * kernel::kBlockElements;
  if (values.size() < block + 2 * kernel::kBlockElements) return {};
  const float* const next = values.data() + block + kernel::kBlockElements;
  return {.block = next + (first - block) / kernel::kBlockPages};
}

class ChunkedTopK final : public Sparsifier {
 public:
  ChunkedTopK(double share, std::size_t chunk) : share_(share), chunk_(chunk) {}

  std::string spec() const override {
    return "topk(" + format_share(share_) + ", chunk=" + std::to_string(chunk_) + ")";
  }

  std::size_t chunk_elements() const override { return chunk_; }
  std::size_t kept_max(std::size_t n) const override {
    return n / chunk_ * kept_of(chunk_) + kept_of(n % chunk_);
  }

  Guarantee guarantee(std::size_t elements, const Guarantee& values) const override {
    if (elements == 0) return Guarantee::contractive(1);
    const auto kept_share = [&](std::size_t n) {
      return n == 0 ? 1.0 : static_cast<double>(kept_of(n)) / static_cast<double>(n);
    };
    const std::size_t rest = elements % chunk_;
    return topk_guarantee(
        elements < chunk_ ? kept_share(rest) : std::min(kept_share(chunk_), kept_share(rest)),
        values);
  }

  void select(std::span<const float> tensor, const Rng&, Scale::Facts& facts,
              ThreadPool& pool) const override {
    check_length(tensor.size(), "topk");
    const std::size_t unit = std::max<std::size_t>(kernel::kBlockElements / chunk_, 1) * chunk_;
    const bool keeps_bad = find_kept(
        tensor, facts, pool,
        [this](TensorRange range, auto& indices, auto& values) {
          return find_chunks(range, indices, values);
        },
        unit);
    facts.finite = std::ranges::all_of(facts.values, is_finite);
    facts.poisoned = !keeps_bad;
  }

  bool goes_by_magnitude() const override { return true; }
  void select_collected(Scale::Facts& facts) const override {
    check_length(facts.tensor_elements, "topk");
    facts.finite = std::ranges::all_of(facts.values, is_finite);
    facts.poisoned = false;
    std::size_t kept = 0;
    for_chunks(facts, [&](std::size_t from, std::size_t to, std::size_t k) {
      Candidates candidates{.indices = std::span(facts.indices).subspan(from, to - from),
                            .values = std::span(facts.values).subspan(from, to - from)};
      if (to - from > k) {
        const std::uint32_t least = kth_largest(
            to - from, [&](std::size_t i) { return magnitude(candidates.values[i]); }, k, 0,
            facts.scratch);
        facts.poisoned = facts.poisoned || candidates.loses_bad(k, least);
        candidates = candidates.keep(k, least);
      }
      std::ranges::copy(candidates.indices, facts.indices.begin() + kept);
      std::ranges::copy(candidates.values, facts.values.begin() + kept);
      kept += candidates.indices.size();
    });
    facts.indices.resize(kept);
    facts.values.resize(kept);
  }

 private:
  static bool is_finite(float value) { return kernel::is_finite_magnitude(magnitude(value)); }

  // Elements of a chunk, in order.
  struct Candidates {
    std::span<std::uint32_t> indices;
    std::span<float> values;

    // More than k are not finite, so that the places of some get lost. `least` is the k-th largest.
    bool loses_bad(std::size_t k, std::uint32_t least) const {
      if (kernel::is_finite_magnitude(least)) return false;
      const auto good = static_cast<std::size_t>(std::ranges::count_if(values, is_finite));
      return values.size() - good > k;
    }

    // The k largest, moved to the front.
    Candidates keep(std::size_t k, std::uint32_t least) const {
      std::size_t ties_left = k;
      for (const float value : values) ties_left -= magnitude(value) > least ? 1 : 0;
      std::size_t kept = 0;
      for (std::size_t i = 0; i < values.size() && kept < k; ++i) {
        const std::uint32_t bits = magnitude(values[i]);
        const bool is_kept_tie = bits == least && ties_left > 0;
        ties_left -= is_kept_tie ? 1 : 0;
        indices[kept] = indices[i];
        values[kept] = values[i];
        kept += is_kept_tie || bits > least ? 1 : 0;  // no branch: it would be hard to predict
      }
      return {indices.first(kept), values.first(kept)};
    }
  };

  std::size_t kept_of(std::size_t n) const { return count_of_share(share_, n); }

  // Appends the kept elements of a range that starts at a chunk. False if a chunk has more values
  // that are not finite than it keeps.
  bool find_chunks(TensorRange range, std::vector<std::uint32_t>& indices,
                   std::vector<float>& values) const {
    ThresholdGuess guess(kept_of(chunk_));
    std::size_t kept = indices.size();
    bool keeps_bad = true;
    for (std::size_t first = 0; first < range.values.size(); first += chunk_) {
      const auto chunk = range.values.subspan(first, std::min(chunk_, range.values.size() - first));
      const std::size_t k = kept_of(chunk.size());
      const auto first_index = static_cast<std::uint32_t>(range.first + first);
      std::size_t found = find_above(chunk, guess.bits(), first_index,
                                     ahead_of(range.values, first, chunk_), kept, indices);
      while (found < k && guess.bits() > 0) {
        guess.lower();
        found = find_above(chunk, guess.bits(), first_index, {}, kept, indices);
      }
      const bool has_all = found >= k;
      if (!has_all) found = add_zeros(chunk, k, first_index, room_behind(indices, kept, k));
      const Candidates candidates{.indices = room_behind(indices, kept, 2 * found + 1).first(found),
                                  .values = room_behind(values, kept, found).first(found)};
      for (std::size_t i = 0; i < found; ++i) {
        candidates.values[i] = chunk[candidates.indices[i] - first_index];
      }
      if (has_all) {
        const std::uint32_t least = kth_largest_in(
            found, [&](std::size_t i) { return magnitude(candidates.values[i]); }, k, guess.bits(),
            [&](std::size_t n) { return std::span(indices).subspan(kept + found, n); });
        keeps_bad = keeps_bad && !candidates.loses_bad(k, least);
        candidates.keep(k, least);
        guess.found(found, least);
      }
      kept += k;
    }
    indices.resize(kept);
    values.resize(kept);
    return keeps_bad;
  }

  // All that is not zero is kept: the first zeros make up the number, k.
  static std::size_t add_zeros(std::span<const float> chunk, std::size_t k,
                               std::uint32_t first_index, std::span<std::uint32_t> indices) {
    std::size_t zeros_left = k;
    for (const float value : chunk) zeros_left -= magnitude(value) > 0 ? 1 : 0;
    std::size_t found = 0;
    for (std::uint32_t j = 0; j < chunk.size(); ++j) {
      const bool is_zero = magnitude(chunk[j]) == 0;
      if (is_zero && zeros_left == 0) continue;
      zeros_left -= is_zero ? 1 : 0;
      indices[found++] = first_index + j;
    }
    return found;
  }

  // Calls body(from, to, k) for the listed elements of every chunk that has some.
  template <class Body>
  void for_chunks(const Scale::Facts& facts, const Body& body) const {
    for (std::size_t from = 0; from < facts.indices.size();) {
      const std::size_t first = facts.indices[from] / chunk_ * chunk_;
      const std::size_t last = std::min(first + chunk_, facts.tensor_elements);
      std::size_t to = from;
      while (to < facts.indices.size() && facts.indices[to] < last) ++to;
      body(from, to, kept_of(last - first));
      from = to;
    }
  }

  double share_;
  std::size_t chunk_;
};

}  // namespace

Guarantee topk_guarantee(double share, const Guarantee& values) {
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

SparsifierPtr make_chunked_topk(double share, std::size_t chunk_elements) {
  return std::make_unique<ChunkedTopK>(share, chunk_elements);
}

}  // namespace gradwire
