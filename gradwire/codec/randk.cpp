// randk: elements at random places, scaled so that the mean is kept.
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

  bool places_are_random() const override { return true; }
  bool places_are_shared() const override { return shared_seed_; }

  // Every element has a random place of its own; those with the k lowest are kept.
  void select(std::span<const float> tensor, const Rng& rng, Scale& scale) const override {
    check_length(tensor.size(), "randk");
    const std::size_t k = kept_max(tensor.size());
    scale.finite = kernel::is_finite_magnitude(kernel::largest_magnitude(tensor));
    scale.poisoned = !scale.finite;  // which elements were bad is lost with their places
    scale.places = (shared_seed_ ? rng.shared() : rng).stream(kSparsifierStage, 0);
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
