#include "reproduce/libsvm_twin.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "data/draws.h"
#include "reproduce/write_text.h"

namespace gradwire::reproduce {
namespace {

data::Draws draws_for(const TwinShape& shape, const char* what) {
  return data::Draws({.seed = 1,
                      .tensor = Rng::tensor_id(std::string(shape.name) + what),
                      .purpose = Purpose::data});
}

// How likely each feature is to be 1: it falls as 1/rank, and adds up to `ones`.
std::vector<double> popularity(const TwinShape& shape) {
  std::vector<double> shares(shape.features);
  double total = 0;
  for (std::size_t j = 0; j < shares.size(); ++j) {
    shares[j] = 1 / (5 + static_cast<double>(j));
    total += shares[j];
  }
  for (double& share : shares) share = std::min(share * shape.ones / total, 0.9);
  data::Draws draws = draws_for(shape, "order");
  draws.shuffle(std::span(shares));
  return shares;
}

}  // namespace

std::string twin_text(const TwinShape& shape) {
  const std::vector<double> shares = popularity(shape);
  data::Draws weight_draws = draws_for(shape, "weights");
  std::vector<double> weights(shape.features);
  for (double& weight : weights) weight = weight_draws.normal();

  data::Draws draws = draws_for(shape, "rows");
  std::vector<std::string> rows(shape.rows);
  std::vector<double> scores(shape.rows);
  for (std::size_t i = 0; i < shape.rows; ++i) {
    scores[i] = draws.normal();
    for (std::size_t j = 0; j < shape.features; ++j) {
      // The last feature of the first row is there, so that the twin has all of them.
      const bool is_last = i == 0 && j + 1 == shape.features;
      if (draws.uniform() >= shares[j] && !is_last) continue;
      rows[i] += fmt::format(" {}:1", j + 1);
      scores[i] += weights[j];
    }
  }
  std::vector<double> sorted = scores;
  const auto from =
      static_cast<std::size_t>((1 - shape.positive) * static_cast<double>(shape.rows));
  std::ranges::nth_element(sorted, sorted.begin() + static_cast<std::ptrdiff_t>(from));
  std::string text;
  for (std::size_t i = 0; i < shape.rows; ++i) {
    text += (scores[i] >= sorted[from] ? "+1" : "-1") + rows[i] + '\n';
  }
  return text;
}

LibsvmFile find_libsvm(const Workbench& bench, const TwinShape& shape) {
  if (!bench.data_directory().empty()) {
    const auto path = bench.data_directory() / shape.name;
    if (std::filesystem::exists(path)) return {.path = path, .name = shape.name};
  }
  const std::string name = std::string(shape.name) + "-twin";
  const auto path = bench.directory() / "data" / name;
  if (!std::filesystem::exists(path)) write_text_file(path, twin_text(shape));
  return {.path = path, .name = name, .is_twin = true};
}

}  // namespace gradwire::reproduce
