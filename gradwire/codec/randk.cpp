// randk: random elements, scaled so that the mean is kept.
#include <algorithm>
#include <cmath>
#include <limits>

#include "gradwire/codec/selection.h"
#include "gradwire/codec/stage.h"
#include "gradwire/kernel/select.h"
#include "gradwire/kernel/sums.h"

namespace gradwire {
namespace {

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

  bool draws_indices() const override { return true; }
  bool shares_indices() const override { return shared_seed_; }

  // Every element draws a random number; those with the k lowest are kept.
  void select(std::span<const float> tensor, const Rng& rng, Scale::Facts& facts,
              ThreadPool& pool) const override {
    check_length(tensor.size(), "randk");
    const std::size_t k = kept_max(tensor.size());
    facts.draws = (shared_seed_ ? rng.shared() : rng).stream(kSparsifierStage, 0);
    facts.indices.clear();
    facts.values.clear();
    if (k == 0) return;

    const auto n = static_cast<double>(tensor.size());
    double hoped_for = static_cast<double>(k) + 5 * std::sqrt(static_cast<double>(k)) + 16;
    do {
      const double last = std::min(hoped_for / n, 1.0) * 0x1p32 - 1;
      facts.finite =
          find_kept(tensor, facts, pool, [&](TensorRange range, auto& indices, auto& values) {
            return append_drawn(range, facts.draws, static_cast<std::uint32_t>(last), indices,
                                values);
          });
      hoped_for *= 2;
    } while (facts.indices.size() < k);
    facts.poisoned = !facts.finite;  // which elements were bad is lost with their indices
    keep_lowest(k, facts);
    const auto factor = static_cast<float>(n / static_cast<double>(k));
    constexpr float kMost = std::numeric_limits<float>::max();
    for (float& value : facts.values) value = std::clamp(value * factor, -kMost, kMost);
  }

 private:
  // Appends the elements of a range that draw a number up to `last`. Memory is read once: a block
  // is in the cache while it is looked through for values that are not finite.
  static bool append_drawn(TensorRange range, RandomStream draws, std::uint32_t last,
                           std::vector<std::uint32_t>& kept_indices,
                           std::vector<float>& kept_values) {
    std::size_t kept = 0;
    bool finite = true;
    kernel::for_blocks(range.values, [&](std::size_t offset, std::span<const float> block,
                                         const kernel::Ahead& ahead) {
      finite = kernel::is_finite_magnitude(kernel::largest_magnitude(block)) && finite;
      const std::size_t first = range.first + offset;
      const auto indices = room_behind(kept_indices, kept, block.size() + kernel::kSelectRoom);
      const std::size_t found =
          kernel::select_drawn(draws.advanced(first), last, block.size(),
                               static_cast<std::uint32_t>(first), indices, ahead);
      const auto values = room_behind(kept_values, kept, found);
      for (std::size_t i = 0; i < found; ++i) values[i] = block[indices[i] - first];
      kept += found;
    });
    kept_indices.resize(kept);
    kept_values.resize(kept);
    return finite;
  }

  // Those with the k lowest numbers.
  static void keep_lowest(std::size_t k, Scale::Facts& facts) {
    const std::size_t found = facts.indices.size();
    const auto draw = [&](std::size_t i) { return facts.draws.at(facts.indices[i]); };
    facts.last_draw = kth_largest(found, draw, found - k + 1, 0, facts.scratch);
    filter(facts,
           [&](std::uint32_t index, float) { return facts.draws.at(index) <= facts.last_draw; });
  }

  double share_;
  bool shared_seed_;
};

SparsifierPtr make_randk(StageReader& stage) {
  const double share = stage.share("share");
  const bool shared = stage.word("seed", {"own", "shared"}) == "shared";
  stage.finish();
  return std::make_unique<RandK>(share, shared);
}

}  // namespace

CodecStage randk_stage() {
  return {.name = "randk", .make = make_randk, .examples = {"randk(1%)", "randk(1%, seed=shared)"}};
}

}  // namespace gradwire
