#include "reproduce/dithering.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "bench/gradients.h"
#include "console/format.h"
#include "reproduce/codec_trial.h"

namespace gradwire::reproduce {
namespace {

using record::Json;

constexpr std::size_t kElements = 100'000;
constexpr int kLevelsMost = 12;
constexpr double kNaturalFloor = 1.0 / 8;  // that no number of levels gets natural dithering below

std::vector<float> tensor() {
  std::vector<float> values(kElements);
  bench::fill_gaussian({.seed = 1, .purpose = Purpose::data}, values);
  return values;
}

struct Norms {
  double squared = 0;
  double largest = 0;

  explicit Norms(std::span<const float> values) {
    for (const double value : values) {
      squared += value * value;
      largest = std::max(largest, std::abs(value));
    }
  }
  double l2() const { return std::sqrt(squared); }
};

// Rounded without bias to one of two neighbours, y has this variance.
template <class Neighbours>
double variance(std::span<const float> values, double scale, Neighbours neighbours) {
  double sum = 0;
  double squared = 0;
  for (const double value : values) {
    const double y = std::min(std::abs(value) / scale, 1.0);
    const auto [below, above] = neighbours(y);
    sum += (y - below) * (above - y);
    squared += y * y;
  }
  return sum / squared;
}

// Of both norms: exact variances, and those of the codecs, by the number of levels.
Json measure(std::size_t draws) {
  const std::vector<float> values = tensor();
  const Norms norms(values);
  Json result;
  for (const char* norm : {"l2", "linf"}) {
    const double scale = std::string_view(norm) == "l2" ? norms.l2() : norms.largest;
    const auto measured = [&](const std::string& codec) {
      const auto spec = fmt::format("{}, norm={}, bucket={})", codec, norm, kElements);
      return try_codec(spec, values, draws).error_squared;
    };
    Json& of = result[norm];
    for (int s = 1; s <= kLevelsMost; ++s) {
      of["natural"].push_back(natural_dithering_variance(values, scale, s));
      of["natural_codec"].push_back(measured(fmt::format("natural_dither(levels={}", s)));
      of["random"].push_back(random_dithering_variance(values, scale, s));
      of["random_doubling"].push_back(
          random_dithering_variance(values, scale, std::ldexp(1.0, s - 1)));
      // The fewest levels with which random dithering is as exact as natural dithering with s.
      double levels = 1;
      while (random_dithering_variance(values, scale, levels) > of["natural"].back()) {
        levels = std::max(levels + 1, std::floor(levels * 1.02));
      }
      of["levels_needed"].push_back(levels);
    }
    for (int bits = 2; bits <= 8; ++bits) {
      const double levels = std::ldexp(1.0, bits - 1) - 1;
      of["qsgd_exact"].push_back(random_dithering_variance(values, scale, levels));
      of["qsgd_codec"].push_back(measured(fmt::format("qsgd(bits={}", bits)));
    }
  }
  return result;
}

using Numbers = std::vector<double>;

double worst_deviation(const Numbers& measured, const Numbers& exact) {
  double worst = 0;
  for (std::size_t i = 0; i < measured.size(); ++i) {
    worst = std::max(worst, std::abs(measured[i] / exact[i] - 1));
  }
  return worst;
}

ClaimRow codecs_row(const Json& found) {
  double worst = 0;
  for (const char* norm : {"l2", "linf"}) {
    const Json& of = found.at(norm);
    worst = std::max({worst, worst_deviation(of.at("natural_codec"), of.at("natural")),
                      worst_deviation(of.at("qsgd_codec"), of.at("qsgd_exact"))});
  }
  return {.what = "the codecs have the variance of their formulas",
          .published = "rounding without bias to the two nearest levels",
          .measured = fmt::format("off by {}% at most", console::significant(100 * worst, 2)),
          .holds = worst < 0.05,
          .reason = {}};
}

ClaimRow equal_levels_row(const Json& found) {
  constexpr std::size_t kLevels = 8;
  const double natural = found["l2"]["natural_codec"][kLevels - 1];
  const double random = found["l2"]["random"][kLevels - 1];
  const double root = std::sqrt(static_cast<double>(kElements));
  const double bound = kNaturalFloor + root / 128 * std::min(1.0, root / 128);
  return {.what = "variance with 8 levels each, l2 (of random levels computed)",
          .published =
              fmt::format("natural at most {}, random at most {}", console::significant(bound, 3),
                          console::significant(root / 8 - 1, 3)),
          .measured = fmt::format("natural {}, random {}: {} times",
                                  console::significant(natural, 3), console::significant(random, 3),
                                  console::significant(random / natural, 3)),
          .holds = natural <= bound && random <= root / 8 - 1 && natural < random,
          .reason = {}};
}

ClaimRow theorem_row(const Json& found) {
  double worst = 0;
  for (const char* norm : {"l2", "linf"}) {
    const Numbers natural = found.at(norm).at("natural_codec");
    const Numbers random = found.at(norm).at("random_doubling");
    for (std::size_t i = 0; i < natural.size(); ++i) {
      worst = std::max(worst, (1 + natural[i]) / (1 + random[i]));
    }
  }
  return {.what = "s natural levels against 2^(s-1) random ones: second moments, s = 1 to 12",
          .published = "at most 9/8 = 1.125 times",
          .measured = fmt::format("at most {} times", console::significant(worst, 4)),
          .holds = worst <= 1.125 * 1.01,
          .reason = {}};
}

// Levels that count: with more, natural dithering has come near its 1/8.
std::size_t levels_that_count(const Numbers& natural) {
  std::size_t count = 0;
  while (count < natural.size() && natural[count] > 2 * kNaturalFloor) ++count;
  return count;
}

ClaimRow gap_row(const Json& found) {
  const Numbers needed = found["l2"]["levels_needed"];
  const std::size_t last = levels_that_count(found["l2"]["natural"]);
  const double growth = std::pow(needed[last - 1] / needed[1], 1.0 / static_cast<double>(last - 2));
  return {.what = "equal variance: random levels that one more natural level stands for, l2",
          .published = "twice as many (exponentially better), until the 1/8 shows",
          .measured =
              fmt::format("{} times as many; {} random for {} natural levels (computed)",
                          console::significant(growth, 3),
                          console::thousands(static_cast<std::uint64_t>(needed[last - 1])), last),
          .holds = growth > 1.8,
          .reason = fmt::format(
              "From {} levels on, natural dithering is near its 1/8, and more levels of it do not "
              "help.",
              last + 1)};
}

Numbers levels_up_to(int most) {
  Numbers levels;
  for (int s = 1; s <= most; ++s) levels.push_back(s);
  return levels;
}

Picture levels_picture(const Json& found) {
  Picture picture{.name = "natural-levels",
                  .title = "Variance by the number of levels, 100,000 Gaussian values",
                  .x_label = "levels",
                  .y_label = "E|C(x) - x|^2 / |x|^2",
                  .log_x = true,
                  .log_y = true,
                  .curves = {}};
  for (const char* norm : {"l2", "linf"}) {
    const Json& of = found.at(norm);
    Numbers doubling;
    for (int s = 1; s <= kLevelsMost; ++s) doubling.push_back(std::ldexp(1.0, s - 1));
    picture.curves.push_back(
        {fmt::format("natural, {}", norm), levels_up_to(kLevelsMost), of.at("natural_codec")});
    picture.curves.push_back({fmt::format("random, {}", norm), doubling, of.at("random_doubling")});
  }
  return picture;
}

Picture gap_picture(const Json& found) {
  Picture picture{.name = "natural-gap",
                  .title = "Random levels that are as exact as s natural ones",
                  .x_label = "natural levels s",
                  .y_label = "random levels",
                  .log_y = true,
                  .curves = {}};
  for (const char* norm : {"l2", "linf"}) {
    picture.curves.push_back({fmt::format("needed, {}", norm), levels_up_to(kLevelsMost),
                              found.at(norm).at("levels_needed")});
  }
  Curve doubling{.label = "2^(s-1)", .x = levels_up_to(kLevelsMost), .y = {}};
  for (const double s : doubling.x) doubling.y.push_back(std::exp2(s - 1));
  picture.curves.push_back(std::move(doubling));
  return picture;
}

}  // namespace

double random_dithering_variance(std::span<const float> values, double scale, double levels) {
  return variance(values, scale, [levels](double y) {
    const double below = std::floor(y * levels) / levels;
    return std::pair{below, below + 1 / levels};
  });
}

double natural_dithering_variance(std::span<const float> values, double scale, int levels) {
  const double least = std::ldexp(1.0, 1 - levels);
  return variance(values, scale, [least](double y) {
    if (y < least) return std::pair{0.0, least};
    const double below = std::exp2(std::floor(std::log2(y)));
    return std::pair{below, 2 * below};
  });
}

void add_dithering(Workbench& bench, Claim& claim) {
  const std::size_t draws = bench.is_quick() ? 2 : 8;
  const Json found = bench.trial("dithering", [&] { return measure(draws); });
  claim.rows.push_back(codecs_row(found));
  claim.rows.push_back(equal_levels_row(found));
  claim.rows.push_back(theorem_row(found));
  claim.rows.push_back(gap_row(found));
  claim.pictures.push_back(levels_picture(found));
  claim.pictures.push_back(gap_picture(found));
}

}  // namespace gradwire::reproduce
