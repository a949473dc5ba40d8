// threshold: every element of a magnitude, however many they are.
#include <algorithm>

#include "gradwire/codec/selection.h"
#include "gradwire/codec/stage.h"
#include "gradwire/kernel/sums.h"

namespace gradwire {
namespace {

class Threshold final : public Sparsifier {
 public:
  explicit Threshold(double value) : value_(value) {}

  std::string spec() const override { return "threshold(" + format_number(value_) + ")"; }
  std::size_t kept_max(std::size_t n) const override { return n; }

  Guarantee guarantee(std::size_t, const Guarantee&) const override {
    return Guarantee::none("how much is kept depends on the values: it may be nothing");
  }

  // By the threshold.
  bool bounds_unsent() const override { return true; }

  void select(std::span<const float> tensor, const Rng&, Scale::Facts& facts,
              ThreadPool& pool) const override {
    check_length(tensor.size(), "threshold");
    select_all_above(tensor, least_magnitude() - 1, facts, pool);
    look_for_bad(facts);
  }

  bool goes_by_magnitude() const override { return true; }
  void select_collected(Scale::Facts& facts) const override {
    check_length(facts.tensor_elements, "threshold");
    filter(facts, [least = least_magnitude()](std::uint32_t, float value) {
      return magnitude(value) >= least;
    });
    look_for_bad(facts);
  }

 private:
  std::uint32_t least_magnitude() const { return magnitude(static_cast<float>(value_)); }

  static void look_for_bad(Scale::Facts& facts) {
    facts.finite = std::all_of(facts.values.begin(), facts.values.end(), [](float value) {
      return kernel::is_finite_magnitude(magnitude(value));
    });
  }

  double value_;  // above zero; elements of this magnitude and more are kept
};

SparsifierPtr make_threshold(StageReader& stage) {
  const auto value = stage.number("value", 1e-37, 3e38);
  stage.finish();
  if (!value) stage.fail("threshold needs a value: threshold(0.01)");
  return std::make_unique<Threshold>(*value);
}

}  // namespace

CodecStage threshold_stage() {
  return {.name = "threshold", .make = make_threshold, .examples = {"threshold(0.01)"}};
}

}  // namespace gradwire
