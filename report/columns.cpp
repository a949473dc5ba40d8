#include "report/columns.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <set>

#include "record/prediction.h"

namespace gradwire::report {
namespace {

using record::RunRecord;
using Value = std::function<std::optional<double>(const RunRecord&)>;

struct Rule {
  Column column;
  Value value;
};

constexpr double kMbPerByte = 1e-6;
constexpr double kMsPerSecond = 1e3;

Value metric(std::optional<double> record::Metrics::*member) {
  return [member](const RunRecord& run) { return run.final.*member; };
}

Value megabytes(std::uint64_t Traffic::*bytes) {
  return [bytes](const RunRecord& run) {
    return kMbPerByte * static_cast<double>(run.traffic.*bytes);
  };
}

std::optional<double> ms_per_step(const RunRecord& run, double seconds) {
  if (run.steps == 0) return std::nullopt;
  return kMsPerSecond * seconds / static_cast<double>(run.steps);
}

Value measured(double Phases::*phase) {
  return [phase](const RunRecord& run) { return ms_per_step(run, run.phases.*phase); };
}

Value predicted(double bits_per_second) {
  return [bits_per_second](const RunRecord& run) {
    return ms_per_step(run, record::predicted_seconds(run.phases, run.traffic, bits_per_second));
  };
}

std::optional<double> ratio(const RunRecord& run) {
  if (run.parameters == 0 || run.steps == 0) return std::nullopt;  // an old record, or no run
  return record::compression_ratio(run);
}

std::optional<double> share_skipped(const RunRecord& run) {
  const std::uint64_t all = run.uploads + run.uploads_skipped;
  if (all == 0) return std::nullopt;
  return static_cast<double>(run.uploads_skipped) / static_cast<double>(all);
}

std::optional<double> poisoned(const RunRecord& run) { return static_cast<double>(run.poisoned); }

std::vector<Rule> quality_rules() {
  const char* const group = "Quality";
  return {
      {{group, "Loss", "The training loss at the end", Look::value, Better::lower},
       metric(&record::Metrics::loss)},
      {{group, "Gap", "The loss minus the least possible, at the end", Look::value, Better::lower},
       metric(&record::Metrics::gap)},
      {{group, "Test loss", "The loss on the test set, at the end", Look::value, Better::lower},
       metric(&record::Metrics::test_loss)},
      {{group, "Accuracy", "On the test set, at the end", Look::share, Better::higher},
       metric(&record::Metrics::accuracy)}};
}

std::vector<Rule> traffic_rules() {
  const char* const group = "Traffic per worker";
  return {
      {{group, "MB sent", "Frames included; the mean over the workers", Look::megabytes,
        Better::lower},
       megabytes(&Traffic::bytes_sent)},
      {{group, "MB received", "", Look::megabytes, Better::lower},
       megabytes(&Traffic::bytes_received)},
      {{group, "Ratio", "Times fewer bytes sent than by a ring allreduce of 32-bit floats",
        Look::ratio, Better::higher},
       ratio},
      {{group, "Skipped", "Uploads that were left out, as a share", Look::share}, share_skipped},
      {{group, "Poisoned", "Steps that met a NaN or an infinity and changed nothing", Look::count,
        Better::lower},
       poisoned}};
}

std::vector<Rule> time_rules() {
  const char* const group = "Measured, ms per step";
  std::vector<Rule> rules = {
      {{group, "Compute", "", Look::milliseconds}, measured(&Phases::compute_seconds)},
      {{group, "Encode", "", Look::milliseconds, Better::lower}, measured(&Phases::encode_seconds)},
      {{group, "Exchange", "", Look::milliseconds, Better::lower},
       measured(&Phases::exchange_seconds)},
      {{group, "Decode", "", Look::milliseconds, Better::lower},
       measured(&Phases::decode_seconds)}};
  for (const record::Bandwidth& link : record::kBandwidths) {
    rules.push_back({{"Predicted, ms per step", link.name, "What a step would take on such a link",
                      Look::milliseconds, Better::lower},
                     predicted(link.bits_per_second)});
  }
  return rules;
}

// Shares and counts of what hardly ever happens say nothing where it never did.
bool is_worth_showing(const Column& column) {
  const bool zero_is_nothing = column.name == "Skipped" || column.name == "Poisoned";
  return std::ranges::any_of(column.values, [&](const std::optional<double>& value) {
    return value && (*value != 0 || !zero_is_nothing);
  });
}

}  // namespace

std::vector<Column> columns_of(std::span<const Run> runs) {
  std::vector<Column> columns;
  for (std::vector<Rule>& rules : std::array{quality_rules(), traffic_rules(), time_rules()}) {
    for (Rule& rule : rules) {
      for (const Run& run : runs) {
        const std::optional<double> value = rule.value(run.record);
        rule.column.values.push_back(value && std::isfinite(*value) ? value : std::nullopt);
      }
      if (is_worth_showing(rule.column)) columns.push_back(std::move(rule.column));
    }
  }
  return columns;
}

std::vector<std::size_t> best_of(const Column& column) {
  if (column.better == Better::neither) return {};
  std::set<double> known;
  for (const auto& value : column.values) {
    if (value) known.insert(*value);
  }
  if (known.size() < 2) return {};
  const double best = column.better == Better::lower ? *known.begin() : *known.rbegin();
  std::vector<std::size_t> runs;
  for (std::size_t i = 0; i < column.values.size(); ++i) {
    if (column.values[i] == best) runs.push_back(i);
  }
  return runs;
}

}  // namespace gradwire::report
