#include "convex/regulariser.h"

#include <algorithm>
#include <cmath>

#include "convex/sum.h"
#include "gradwire/codec/spec.h"

namespace gradwire::convex {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Towards zero by `amount`.
double shrink(double v, double amount) {
  return std::copysign(std::max(std::abs(v) - amount, 0.0), v);
}

double strength(StageReader& reader, std::string_view key) {
  const auto number = reader.number(key, 0, std::numeric_limits<double>::infinity());
  if (!number) reader.fail_argument(key, "the strength '" + std::string(key) + "' is missing");
  return *number;
}

Regulariser read_box(StageReader& reader) {
  constexpr double kMost = std::numeric_limits<double>::max();
  Regulariser box;
  if (const auto radius = reader.number("radius", 0, kMost)) {
    box.low = -*radius;
    box.high = *radius;
    return box;
  }
  const auto low = reader.number("low", -kMost, kMost);
  const auto high = reader.number("high", -kMost, kMost);
  if (!low && !high) {
    reader.fail("a box needs its bounds, as in 'box(low=0, high=1)' or 'box(1)' for -1 to 1");
  }
  box.low = low.value_or(-kInfinity);
  box.high = high.value_or(kInfinity);
  if (box.low > box.high) reader.fail("the box is empty: its low bound is above its high one");
  return box;
}

Regulariser read(std::string_view name, StageReader& reader) {
  if (name == "none") return {};
  if (name == "l1") return {.l1 = strength(reader, "l1")};
  if (name == "l2") return {.l2 = strength(reader, "l2")};
  if (name == "elastic") {
    const double l1 = strength(reader, "l1");
    return {.l1 = l1, .l2 = strength(reader, "l2")};
  }
  if (name == "box") return read_box(reader);
  const auto nearest = nearest_name(name, {"none", "l1", "l2", "elastic", "box"});
  reader.fail("there is no regulariser called '" + std::string(name) + "'" +
              (nearest ? "; did you mean '" + *nearest + "'?"
                       : "; there are none, l1, l2, elastic and box"));
}

}  // namespace

std::string Regulariser::spec() const {
  if (low != -kInfinity || high != kInfinity) {
    std::string bounds;
    if (low != -kInfinity) bounds += "low=" + format_number(low);
    if (high != kInfinity) bounds += (bounds.empty() ? "high=" : ", high=") + format_number(high);
    return "box(" + bounds + ")";
  }
  if (l1 != 0 && l2 != 0) {
    return "elastic(l1=" + format_number(l1) + ", l2=" + format_number(l2) + ")";
  }
  if (l1 != 0) return "l1(" + format_number(l1) + ")";
  if (l2 != 0) return "l2(" + format_number(l2) + ")";
  return "none";
}

double Regulariser::value(std::span<const double> x) const {
  constexpr double kRounding = 1e-6;
  Sum magnitudes;
  for (const double coordinate : x) {
    magnitudes.add(std::abs(coordinate));
    if (coordinate < low - kRounding * std::abs(low)) return kInfinity;
    if (coordinate > high + kRounding * std::abs(high)) return kInfinity;
  }
  return l1 * magnitudes.value() + l2 / 2 * squared_norm(x);
}

double Regulariser::prox(double v, double step) const {
  return std::clamp(shrink(v, step * l1) / (1 + step * l2), low, high);
}

double Regulariser::nearest_slope(double x, double slope) const {
  slope += l2 * x;
  slope = x == 0 ? shrink(slope, l1) : slope + std::copysign(l1, x);
  if (x <= low) slope = std::min(slope, 0.0);
  if (x >= high) slope = std::max(slope, 0.0);
  return slope;
}

bool Regulariser::is_smooth() const { return l1 == 0 && low == -kInfinity && high == kInfinity; }

Regulariser parse_regulariser(std::string_view text) {
  const Spec spec = parse_spec(text);
  if (spec.stages.size() > 1) fail_at(text, spec.stages[1].position, "a regulariser is not a pipe");
  StageReader reader(text, spec.stages.front());
  const Regulariser regulariser = read(spec.stages.front().name, reader);
  reader.finish();
  return regulariser;
}

}  // namespace gradwire::convex
