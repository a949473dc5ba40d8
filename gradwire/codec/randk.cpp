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
  void select(std::span<const float> tensor, const Rng& rng, Scale::Facts& facts) const override {
    check_length(tensor.size(), "randk");
    const std::size_t k = kept_max(tensor.size());
    facts.finite = kernel::is_finite_magnitude(kernel::largest_magnitude(tensor));
    facts.poisoned = !facts.finite;  // which elements were bad is lost with their indices
    facts.draws = (shared_seed_ ? rng.shared() : rng).stream(kSparsifierStage, 0);
    facts.indices.clear();
    facts.values.clear();
    if (k == 0) return;

    const auto n = static_cast<double>(tensor.size());
    double hoped_for = static_cast<double>(k) + 5 * std::sqrt(static_cast<double>(k)) + 16;
    do {
      const double last = std::min(hoped_for / n, 1.0) * 0x1p32 - 1;
      select_up_to(static_cast<std::uint32_t>(last), tensor.size(), facts);
      hoped_for *= 2;
    } while (facts.indices.size() < k);

    resize_amply(facts.scratch, facts.indices.size());
    std::transform(facts.indices.begin(), facts.indices.end(), facts.scratch.begin(),
                   [&](std::uint32_t index) { return facts.draws.at(index); });
    const auto last = facts.scratch.begin() + static_cast<std::ptrdiff_t>(k - 1);
    std::nth_element(facts.scratch.begin(), last, facts.scratch.end());
    facts.last_draw = *last;
    resize_amply(facts.values, facts.indices.size());
    filter(facts,
           [&](std::uint32_t index, float) { return facts.draws.at(index) <= facts.last_draw; });
    const auto factor = static_cast<float>(n / static_cast<double>(k));
    constexpr float kMost = std::numeric_limits<float>::max();
    std::transform(
        facts.indices.begin(), facts.indices.end(), facts.values.begin(),
        [&](std::uint32_t index) { return std::clamp(tensor[index] * factor, -kMost, kMost); });
  }

 private:
  static void select_up_to(std::uint32_t last, std::size_t elements, Scale::Facts& facts) {
    std::size_t kept = 0;
    for (std::size_t first = 0; first < elements; first += kernel::kBlockElements) {
      const std::size_t count = std::min(kernel::kBlockElements, elements - first);
      kept += kernel::select_drawn(facts.draws.advanced(first), last, count,
                                   static_cast<std::uint32_t>(first),
                                   room_behind(facts.indices, kept, count + kernel::kSelectRoom));
    }
    facts.indices.resize(kept);
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
