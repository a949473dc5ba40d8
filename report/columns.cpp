#include "report/columns.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

#include "record/prediction.h"
#include "report/json_values.h"

namespace gradwire::report {
namespace {

using record::RunRecord;
using Value = std::function<std::optional<double>(std::size_t run)>;

struct Rule {
  Column column;
  Value value;
};

constexpr double kMbPerByte = 1e-6;
constexpr double kMsPerSecond = 1e3;

std::optional<double> share_skipped(const RunRecord& run) {
  const std::uint64_t all = run.uploads + run.uploads_skipped;
  if (all == 0) return std::nullopt;
  return static_cast<double>(run.uploads_skipped) / static_cast<double>(all);
}

// Of the messages of all workers. Nothing if no rank was late.
std::optional<double> share_late(const RunRecord& run) {
  if (run.late.empty() || run.workers == 0 || run.steps == 0) return std::nullopt;
  std::uint64_t late = 0;
  for (const std::uint64_t steps : run.late) late += steps;
  return static_cast<double>(late) / static_cast<double>(run.workers * run.steps);
}

// All columns of the runs.
class Rules {
 public:
  Rules(std::span<const Run> runs, std::span<const Row> rows)
      : runs_(runs), rows_(rows), partner_(runs.size(), 0) {
    std::vector<const RunRecord*> records;
    for (const Run& run : runs) records.push_back(&run.record);
    compute_seconds_ = record::compute_seconds_per_step(records);
    for (const Row& row : rows) {
      const std::vector<std::size_t>& first = rows.front().runs;
      for (std::size_t i = 0; i < row.runs.size(); ++i) {
        partner_[row.runs[i]] = first[first.size() == row.runs.size() ? i : 0];
      }
    }
  }

  std::vector<Rule> all() const {
    std::vector<Rule> rules;
    for (auto&& some : {results(), losses(), traffic(), times()}) {
      rules.insert(rules.end(), some.begin(), some.end());
    }
    return rules;
  }

 private:
  const RunRecord& record(std::size_t run) const { return runs_[run].record; }

  bool is_comparison() const {
    const RunRecord& first = runs_.front().record;
    return rows_.size() > 1 && std::ranges::all_of(runs_, [&](const Run& run) {
             const auto is_same = [&](const char* field) {
               return member(run.record.configuration, field) == member(first.configuration, field);
             };
             return run.record.parameters == first.parameters &&
                    run.record.workers == first.workers && is_same("model") && is_same("data");
           });
  }

  Value metric(std::optional<double> record::Metrics::*member) const {
    return [this, member](std::size_t run) { return record(run).final.*member; };
  }
  Value megabytes(std::uint64_t Traffic::*bytes) const {
    return [this, bytes](std::size_t run) {
      return kMbPerByte * static_cast<double>(record(run).traffic.*bytes);
    };
  }
  Value measured(double Phases::*phase) const {
    return [this, phase](std::size_t run) -> std::optional<double> {
      const auto steps = static_cast<double>(record(run).steps);
      if (steps == 0) return std::nullopt;
      return kMsPerSecond * record(run).phases.*phase / steps;
    };
  }
  Value predicted(double bits_per_second) const {
    return [this, bits_per_second](std::size_t run) -> std::optional<double> {
      if (record(run).steps == 0) return std::nullopt;
      return kMsPerSecond *
             record::predicted_step_seconds(record(run), bits_per_second, compute_seconds_[run]);
    };
  }
  // By how much a metric is above that of the first row, with the same seed where there are
  // several.
  Value difference(std::optional<double> record::Metrics::*member, double factor) const {
    return [this, member, factor](std::size_t run) -> std::optional<double> {
      const auto own = record(run).final.*member;
      const auto other = record(partner_[run]).final.*member;
      if (!own || !other) return std::nullopt;
      return factor * (*own - *other);
    };
  }
  Value speedup(double bits_per_second) const {
    return [value = predicted(bits_per_second), this](std::size_t run) -> std::optional<double> {
      const auto own = value(run);
      const auto other = value(partner_[run]);
      if (!own || !other || !(*own > 0)) return std::nullopt;
      return *other / *own;
    };
  }

  // The metric that the runs are for: of networks the accuracy.
  std::optional<double> record::Metrics::*main_metric() const {
    for (const auto metric :
         {&record::Metrics::accuracy, &record::Metrics::gap, &record::Metrics::test_loss}) {
      if (std::ranges::any_of(
              runs_, [&](const Run& run) { return (run.record.final.*metric).has_value(); })) {
        return metric;
      }
    }
    return &record::Metrics::loss;
  }

  std::vector<Rule> results() const {
    std::vector<Rule> rules;
    const auto main = main_metric();
    for (Rule& rule : qualities("Result")) {
      if (rule.column.name == name_of(main)) rules.push_back(std::move(rule));
    }
    rules.back().column.is_key = true;
    const bool compares = is_comparison();
    if (compares && main == &record::Metrics::accuracy) {
      rules.push_back({{.group = "Result",
                        .name = "Difference",
                        .hint = "Points of accuracy against the first row",
                        .look = Look::points,
                        .is_key = true},
                       difference(main, 100)});
    }
    rules.push_back({{.group = "Result",
                      .name = "Ratio",
                      .hint = "A ring all-reduce of 32-bit floats sends so many times the bytes",
                      .look = Look::ratio,
                      .better = Better::higher,
                      .is_key = true},
                     [this](std::size_t run) -> std::optional<double> {
                       // An old record, or no run.
                       if (record(run).parameters == 0 || record(run).steps == 0) return {};
                       return record::compression_ratio(record(run));
                     }});
    for (const record::Bandwidth& link : record::kBandwidths) {
      if (!compares) break;
      rules.push_back({{.group = "Speed-up, predicted",
                        .name = link.name,
                        .hint = "Steps per second, divided by those of the first row",
                        .look = Look::ratio,
                        .better = Better::higher,
                        .trust = Trust::measured,
                        .is_key = &link == &record::kBandwidths.front()},
                       speedup(link.bits_per_second)});
    }
    return rules;
  }

  static const char* name_of(std::optional<double> record::Metrics::*metric) {
    if (metric == &record::Metrics::accuracy) return "Accuracy";
    if (metric == &record::Metrics::gap) return "Gap";
    return metric == &record::Metrics::test_loss ? "Test loss" : "Loss";
  }

  std::vector<Rule> qualities(const char* group) const {
    std::vector<Rule> rules = {
        {{group, "Accuracy", "On the test set, at the end", Look::share, Better::higher},
         metric(&record::Metrics::accuracy)},
        {{group, "Gap", "The loss minus the least possible, at the end", Look::value,
          Better::lower},
         metric(&record::Metrics::gap)},
        {{group, "Test loss", "The loss on the test set, at the end", Look::value, Better::lower},
         metric(&record::Metrics::test_loss)},
        {{group, "Loss", "The training loss at the end", Look::value, Better::lower},
         metric(&record::Metrics::loss)}};
    for (Rule& rule : rules) rule.column.trust = Trust::unknown;
    return rules;
  }

  std::vector<Rule> losses() const {
    std::vector<Rule> rules = qualities("Losses");
    const std::string main = name_of(main_metric());
    std::erase_if(rules, [&](const Rule& rule) { return rule.column.name == main; });
    return rules;
  }

  std::vector<Rule> traffic() const {
    const char* const group = "Traffic per worker";
    return {{{group, "MB sent", "Frames included; the mean over the workers", Look::megabytes,
              Better::lower},
             megabytes(&Traffic::bytes_sent)},
            {{group, "MB received", "", Look::megabytes, Better::lower},
             megabytes(&Traffic::bytes_received)},
            {{group, "Skipped", "Uploads that were left out, as a share", Look::share},
             [this](std::size_t run) { return share_skipped(record(run)); }},
            {{group, "Late", "Messages that came too late to be counted, as a share", Look::share},
             [this](std::size_t run) { return share_late(record(run)); }},
            {{group, "Poisoned", "Steps that met a NaN or an infinity and changed nothing",
              Look::count, Better::lower},
             [this](std::size_t run) { return static_cast<double>(record(run).poisoned); }}};
  }

  std::vector<Rule> times() const {
    const char* const group = "Measured, ms per step";
    std::vector<Rule> rules = {
        {{group, "Compute", "", Look::milliseconds}, measured(&Phases::compute_seconds)},
        {{group, "Encode", "", Look::milliseconds, Better::lower},
         measured(&Phases::encode_seconds)},
        {{group, "Exchange", "", Look::milliseconds, Better::lower},
         measured(&Phases::exchange_seconds)},
        {{group, "Decode", "", Look::milliseconds, Better::lower},
         measured(&Phases::decode_seconds)}};
    for (const record::Bandwidth& link : record::kBandwidths) {
      rules.push_back({{"Predicted, ms per step", link.name, "The time of a step on such a link",
                        Look::milliseconds, Better::lower},
                       predicted(link.bits_per_second)});
    }
    for (Rule& rule : rules) rule.column.trust = Trust::measured;
    return rules;
  }

  std::span<const Run> runs_;
  std::span<const Row> rows_;
  std::vector<double> compute_seconds_;  // of a step of each run
  std::vector<std::size_t> partner_;     // for each run, the run of the first row to compare with
};

// Shares and counts of what hardly ever happens say nothing where it never did.
bool is_worth_showing(const Column& column) {
  const bool zero_is_nothing = column.name == "Skipped" || column.name == "Poisoned";
  return std::ranges::any_of(column.values, [&](const std::optional<double>& value) {
    return value && (*value != 0 || !zero_is_nothing);
  });
}

// Whether two rows differ by more than chance.
bool differ(const Column& column, std::size_t a, std::size_t b) {
  constexpr double kMeasured = 0.05;  // a share of the larger one
  const double difference = std::abs(*column.values[a] - *column.values[b]);
  const auto& spreads = column.spreads;
  if (!spreads.empty() && spreads[a] && spreads[b]) {
    return difference > std::hypot(*spreads[a], *spreads[b]);
  }
  if (column.trust == Trust::unknown) return false;
  if (column.trust == Trust::exact) return difference > 0;
  return difference >
         kMeasured * std::max(std::abs(*column.values[a]), std::abs(*column.values[b]));
}

}  // namespace

std::vector<Column> columns_of(std::span<const Run> runs, std::span<const Row> rows) {
  std::vector<Column> columns;
  if (runs.empty()) return columns;
  const Rules rules(runs, rows);
  for (Rule& rule : rules.all()) {
    for (const Row& row : rows) {
      std::vector<std::optional<double>> values;
      for (const std::size_t run : row.runs) values.push_back(rule.value(run));
      const auto found = mean_and_spread(values);
      rule.column.values.push_back(found ? std::optional(found->mean) : std::nullopt);
      rule.column.spreads.push_back(found ? found->spread : std::nullopt);
    }
    if (is_worth_showing(rule.column)) columns.push_back(std::move(rule.column));
  }
  return columns;
}

std::vector<std::size_t> best_of(const Column& column) {
  if (column.better == Better::neither) return {};
  std::optional<std::size_t> best;
  for (std::size_t row = 0; row < column.values.size(); ++row) {
    if (!column.values[row]) continue;
    const bool is_better =
        best && (column.better == Better::lower ? *column.values[row] < *column.values[*best]
                                                : *column.values[row] > *column.values[*best]);
    if (!best || is_better) best = row;
  }
  if (!best) return {};
  std::vector<std::size_t> rows;
  bool is_beyond_others = false;
  for (std::size_t row = 0; row < column.values.size(); ++row) {
    if (!column.values[row]) continue;
    const bool is_other = row != *best && differ(column, *best, row);
    is_beyond_others = is_beyond_others || is_other;
    if (!is_other) rows.push_back(row);
  }
  return is_beyond_others ? rows : std::vector<std::size_t>();
}

}  // namespace gradwire::report
