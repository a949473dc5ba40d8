#include "data/split.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>

#include "data/draws.h"
#include "gradwire/codec/spec.h"
#include "gradwire/core/check.h"

namespace gradwire::data {
namespace {

using Rows = std::vector<std::uint32_t>;

constexpr double kConcentrationMin = 1e-6;
constexpr double kConcentrationMax = 1e6;
constexpr std::size_t kClassesMax = 32;  // labels beyond are numbers, not classes
constexpr std::size_t kNumberGroups = 10;

// The logarithm of a draw from the gamma distribution (Marsaglia and Tsang, 2000): small shapes
// give draws that no double could hold.
double log_gamma_draw(Draws& draws, double shape) {
  if (shape < 1) return log_gamma_draw(draws, shape + 1) + std::log(draws.uniform()) / shape;
  const double d = shape - 1.0 / 3;
  const double c = 1 / std::sqrt(9 * d);
  while (true) {
    const double normal = draws.normal();
    const double v = std::pow(1 + c * normal, 3);
    if (v <= 0) continue;
    if (std::log(draws.uniform()) < normal * normal / 2 + d - d * v + d * std::log(v)) {
      return std::log(d * v);
    }
  }
}

// Not negative, and 1 together.
std::vector<double> dirichlet_draw(Draws& draws, double concentration, std::size_t workers) {
  std::vector<double> shares(workers);
  for (double& share : shares) share = log_gamma_draw(draws, concentration);
  const double largest = *std::max_element(shares.begin(), shares.end());
  for (double& share : shares) share = std::exp(share - largest);
  const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
  for (double& share : shares) share /= sum;
  return shares;
}

// Rows sorted by label; among equal labels as they were.
Rows sorted_by_label(std::span<const double> labels) {
  Rows rows(labels.size());
  std::iota(rows.begin(), rows.end(), 0u);
  std::ranges::stable_sort(rows, {}, [&](std::uint32_t row) { return labels[row]; });
  return rows;
}

// The end of the part of `count` that is `share` of it.
std::size_t cut(double share, std::size_t count) {
  return std::min(count,
                  static_cast<std::size_t>(std::llround(share * static_cast<double>(count))));
}

void deal_evenly(std::span<const std::uint32_t> rows, std::vector<Shard>& shards) {
  for (std::size_t i = 0; i < shards.size(); ++i) {
    const std::size_t begin = rows.size() * i / shards.size();
    const std::size_t end = rows.size() * (i + 1) / shards.size();
    shards[i].rows.assign(rows.begin() + static_cast<std::ptrdiff_t>(begin),
                          rows.begin() + static_cast<std::ptrdiff_t>(end));
  }
}

void deal_by_shares(std::span<const std::uint32_t> rows, const std::vector<double>& shares,
                    std::vector<Shard>& shards) {
  double share = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < shards.size(); ++i) {
    share += shares[i];
    const std::size_t end = i + 1 == shards.size() ? rows.size() : cut(share, rows.size());
    const auto part = rows.subspan(begin, std::max(begin, end) - begin);
    shards[i].rows.insert(shards[i].rows.end(), part.begin(), part.end());
    begin += part.size();
  }
}

// Rows of one label each, or of neighbouring ones where labels are numbers.
std::vector<Rows> groups_of(std::span<const double> labels) {
  const Rows sorted = sorted_by_label(labels);
  const bool are_classes = std::set<double>(labels.begin(), labels.end()).size() <= kClassesMax;
  std::vector<Rows> groups;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    const bool begins = are_classes ? i == 0 || labels[sorted[i]] != labels[sorted[i - 1]]
                                    : groups.size() <= i * kNumberGroups / sorted.size();
    if (begins) groups.emplace_back();
    groups.back().push_back(sorted[i]);
  }
  return groups;
}

}  // namespace

std::string Split::spec() const {
  switch (kind) {
    case Kind::iid:
      return "iid";
    case Kind::label:
      return "label";
    case Kind::dirichlet:
      break;
  }
  return "dirichlet(" + format_number(concentration) + ")";
}

Split parse_split(std::string_view text) {
  const Spec spec = parse_spec(text);
  const SpecStage& stage = spec.stages.front();
  if (spec.stages.size() > 1) fail_at(text, spec.stages[1].position, "a split is not a pipe");
  StageReader reader(text, stage);
  Split split;
  if (stage.name == "label") {
    split.kind = Split::Kind::label;
  } else if (stage.name == "dirichlet") {
    split.kind = Split::Kind::dirichlet;
    const auto concentration = reader.number("concentration", kConcentrationMin, kConcentrationMax);
    if (!concentration) reader.fail("'dirichlet' needs a number, as in 'dirichlet(0.5)'");
    split.concentration = *concentration;
  } else if (stage.name != "iid") {
    const auto nearest = nearest_name(stage.name, {"iid", "label", "dirichlet"});
    reader.fail("there is no split called '" + stage.name + "'" +
                (nearest ? "; did you mean '" + *nearest + "'?"
                         : "; known are iid, label and dirichlet(a)"));
  }
  reader.finish();
  return split;
}

std::vector<Shard> split_rows(const Split& split, std::span<const double> labels,
                              std::size_t workers, std::uint64_t seed) {
  GW_CHECK(workers > 0);
  GW_CHECK(labels.size() <= std::numeric_limits<std::uint32_t>::max());
  Draws draws({.seed = seed, .tensor = Rng::tensor_id("split"), .purpose = Purpose::data});
  std::vector<Shard> shards(workers);
  if (split.kind == Split::Kind::dirichlet) {
    for (Rows& group : groups_of(labels)) {
      draws.shuffle(std::span(group));
      deal_by_shares(group, dirichlet_draw(draws, split.concentration, workers), shards);
    }
  } else {
    Rows rows = sorted_by_label(labels);
    if (split.kind == Split::Kind::iid) draws.shuffle(std::span(rows));
    deal_evenly(rows, shards);
  }
  for (Shard& shard : shards) {
    shard.weight = static_cast<double>(workers) * static_cast<double>(shard.rows.size()) /
                   static_cast<double>(labels.size());
  }
  return shards;
}

}  // namespace gradwire::data
