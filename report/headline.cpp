#include "report/headline.h"

#include <algorithm>
#include <cstdio>
#include <optional>
#include <vector>

#include "record/prediction.h"
#include "report/columns.h"

namespace gradwire::report {
namespace {

// Up to so much worse, a run is about as good: in points of accuracy, or as a share of the loss.
constexpr double kPointsWorse = 1;
constexpr double kLossWorse = 0.02;

std::string number(const char* format, double value) {
  char text[32];
  std::snprintf(text, sizeof(text), format, value);
  return text;
}

// Three digits, without an exponent.
std::string times_text(double times) {
  return number(times >= 99.95 ? "%.0f" : times >= 9.995 ? "%.1f" : "%.2f", times);
}

const Column* find(std::span<const Column> columns, std::string_view group, std::string_view name) {
  const auto found = std::ranges::find_if(columns, [&](const Column& column) {
    return (group.empty() || column.group == group) && column.name == name;
  });
  return found == columns.end() ? nullptr : &*found;
}

// What the sentence is made of.
class Comparison {
 public:
  explicit Comparison(std::span<const Column> columns)
      : ratio_(find(columns, "", "Ratio")),
        speedup_(find(columns, "Speed-up, predicted", link().name)),
        points_(find(columns, "", "Difference")),
        loss_(find(columns, "", "Test loss")) {
    if (loss_ == nullptr) loss_ = find(columns, "", "Loss");
  }

  static const record::Bandwidth& link() { return record::kBandwidths.front(); }

  bool is_known(std::size_t row) const {
    return ratio_ != nullptr && speedup_ != nullptr && ratio_->values[row] &&
           ratio_->values.front() && speedup_->values[row];
  }
  double ratio(std::size_t row) const { return *ratio_->values[row] / *ratio_->values.front(); }
  double speedup(std::size_t row) const { return *speedup_->values[row]; }

  bool is_about_as_good(std::size_t row) const {
    if (points_ != nullptr && points_->values[row]) return *points_->values[row] >= -kPointsWorse;
    if (loss_ == nullptr || !loss_->values[row] || !loss_->values.front()) return true;
    return *loss_->values[row] <= (1 + kLossWorse) * *loss_->values.front();
  }

  // ", +0.70 +- 0.12 points of accuracy", or nothing.
  std::string points_text(std::size_t row) const {
    if (points_ == nullptr || !points_->values[row]) return "";
    const auto& spread = points_->spreads[row];
    return ", " + number("%+.2f", *points_->values[row]) +
           (spread ? number(" \xc2\xb1 %.2f", *spread) : "") + " points of accuracy";
  }

 private:
  const Column* ratio_;
  const Column* speedup_;
  const Column* points_;
  const Column* loss_;
};

bool sends_anything(std::span<const Run> runs, const Row& row) {
  return std::ranges::all_of(
      row.runs, [&](std::size_t run) { return runs[run].record.traffic.bytes_sent > 0; });
}

}  // namespace

std::string headline_of(std::span<const Run> runs, std::span<const Row> rows) {
  if (rows.size() < 2 || !sends_anything(runs, rows.front())) return "";
  const std::vector<Column> columns = columns_of(runs, rows);
  const Comparison comparison(columns);
  std::optional<std::size_t> chosen;
  for (std::size_t row = 1; row < rows.size(); ++row) {
    if (!comparison.is_known(row) || !sends_anything(runs, rows[row])) continue;
    const bool is_good = comparison.is_about_as_good(row);
    const bool is_chosen_good = chosen && comparison.is_about_as_good(*chosen);
    if (chosen &&
        (is_good != is_chosen_good ? is_chosen_good
                                   : comparison.speedup(row) <= comparison.speedup(*chosen))) {
      continue;
    }
    chosen = row;
  }
  if (!chosen) return "";
  const double ratio = comparison.ratio(*chosen);
  return rows[*chosen].name + ": " +
         (ratio >= 1 ? times_text(ratio) + " times fewer" : times_text(1 / ratio) + " times more") +
         " bytes than " + rows.front().name + comparison.points_text(*chosen) + ", " +
         times_text(comparison.speedup(*chosen)) + " times as fast at " + Comparison::link().name +
         " (predicted).";
}

}  // namespace gradwire::report
