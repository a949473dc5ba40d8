#include "reproduce/run_means.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "console/format.h"
#include "record/prediction.h"

namespace gradwire::reproduce {
namespace {

constexpr double kBytesPerMegabyte = 1e6;

double accuracy_of(const session::FinishedRun& run) {
  return run.record.final.accuracy.value_or(std::nan(""));
}

double bytes_of(const session::FinishedRun& run) {
  return static_cast<double>(run.record.traffic.bytes_sent);
}

template <class Figure>
double mean_over(std::span<const session::FinishedRun> runs, Figure figure) {
  std::vector<double> figures;
  for (const session::FinishedRun& run : runs) figures.push_back(figure(run));
  return spread_of(figures).mean;
}

}  // namespace

Spread spread_of(std::span<const double> figures) {
  const auto count = static_cast<double>(figures.size());
  double sum = 0;
  for (const double figure : figures) sum += figure;
  Spread spread{.mean = sum / count, .error = 0};
  if (figures.size() < 2) return spread;
  double squares = 0;
  for (const double figure : figures) squares += (figure - spread.mean) * (figure - spread.mean);
  spread.error = std::sqrt(squares / (count - 1) / count);
  return spread;
}

Extent extent_of(std::initializer_list<std::size_t> runs, std::size_t planned) {
  const std::size_t least = std::min(runs);
  return least >= planned ? Extent::whole : least > 0 ? Extent::part : Extent::nothing;
}

Spread accuracy_points(std::span<const session::FinishedRun> runs,
                       std::span<const session::FinishedRun> partners) {
  std::vector<double> points;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    points.push_back(100 * (accuracy_of(runs[i]) - accuracy_of(partners[i])));
  }
  return spread_of(points);
}

std::string points_text(const Spread& points) {
  const std::string error = points.error > 0 ? " +- " + console::fixed(points.error, 2) : "";
  return fmt::format("{}{}{} points", points.mean >= 0 ? "+" : "", console::fixed(points.mean, 2),
                     error);
}

bool is_no_lower(const Spread& points, double points_lost) {
  return points.mean - points.error >= -points_lost;
}

double mean_accuracy(std::span<const session::FinishedRun> runs) {
  return mean_over(runs, accuracy_of);
}

double mean_ratio(std::span<const session::FinishedRun> runs) {
  return mean_over(
      runs, [](const session::FinishedRun& run) { return record::compression_ratio(run.record); });
}

double mean_step_bytes(std::span<const session::FinishedRun> runs) {
  return mean_over(runs, [](const session::FinishedRun& run) {
    return bytes_of(run) / static_cast<double>(run.record.steps);
  });
}

double mean_megabytes(std::span<const session::FinishedRun> runs) {
  return mean_over(runs, bytes_of) / kBytesPerMegabyte;
}

std::string percent(double share) { return console::fixed(100 * share, 2) + "%"; }

std::string seeds_text(std::span<const session::FinishedRun> runs) {
  return fmt::format("{} seed{}", runs.size(), runs.size() == 1 ? "" : "s");
}

}  // namespace gradwire::reproduce
