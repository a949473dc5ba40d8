#include "bench/statistics.h"

#include <algorithm>
#include <cmath>

#include "gradwire/core/check.h"

namespace gradwire::bench {

double median(std::vector<double> figures) {
  GW_CHECK(!figures.empty());
  std::sort(figures.begin(), figures.end());
  const std::size_t middle = figures.size() / 2;
  return figures.size() % 2 == 1 ? figures[middle] : (figures[middle - 1] + figures[middle]) / 2;
}

double relative_error(std::span<const float> values, std::span<const float> truth) {
  double error_squares = 0, squares = 0;
  for (std::size_t i = 0; i < truth.size(); ++i) {
    const double error = double{values[i]} - double{truth[i]};
    error_squares += error * error;
    squares += double{truth[i]} * double{truth[i]};
  }
  return std::sqrt(error_squares / squares);
}

}  // namespace gradwire::bench
