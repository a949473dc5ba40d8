#include "cli/run_tables.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <ostream>

#include "console/format.h"
#include "console/table.h"
#include "gradwire/method/parsed_method.h"
#include "record/prediction.h"

namespace gradwire::cli {
namespace {

double or_nothing(const std::optional<double>& number) { return number.value_or(std::nan("")); }

std::string megabytes(std::uint64_t bytes) {
  return console::fixed(static_cast<double>(bytes) * 1e-6, 3);
}

bool is_network(const session::FinishedRun& run) { return run.record.final.test_loss.has_value(); }

std::string convex_steps_table(const session::FinishedRun& run, std::size_t columns_max) {
  console::Table table({{.heading = "step"},
                        {.heading = "f - f*"},
                        {.heading = "MB sent\nper worker"},
                        {.heading = "bits per\ncoordinate"}});
  std::uint64_t bytes_up = 0;
  std::uint64_t message_bytes = 0;
  const auto add = [&](std::uint64_t step, const record::Metrics& metrics) {
    table.add_row({console::thousands(step), console::significant(or_nothing(metrics.gap), 3),
                   megabytes(bytes_up),
                   console::fixed(8 * static_cast<double>(message_bytes) /
                                      static_cast<double>(run.record.parameters),
                                  1)});
  };
  add(0, run.record.start);
  for (const record::StepRecord& step : run.steps) {
    bytes_up += step.traffic.bytes_sent;
    message_bytes += step.traffic.message_bytes;
    if (step.metrics.gap) add(step.step, step.metrics);
  }
  return table.text(columns_max);
}

std::string network_steps_table(const session::FinishedRun& run, std::size_t columns_max) {
  console::Table table({{.heading = "step"},
                        {.heading = "training\nloss"},
                        {.heading = "test loss"},
                        {.heading = "accuracy"},
                        {.heading = "MB sent\nper worker"},
                        {.heading = "seconds"}});
  std::uint64_t bytes_up = 0;
  double seconds = 0;
  double loss = 0;  // since the last row
  std::uint64_t losses = 0;
  for (const record::StepRecord& step : run.steps) {
    bytes_up += step.traffic.bytes_sent;
    seconds += step.seconds;
    loss += or_nothing(step.metrics.loss);
    ++losses;
    if (!step.metrics.test_loss) continue;
    table.add_row({console::thousands(step.step),
                   console::significant(loss / static_cast<double>(losses), 4),
                   console::significant(*step.metrics.test_loss, 4),
                   console::fixed(100 * or_nothing(step.metrics.accuracy), 2) + "%",
                   megabytes(bytes_up), console::fixed(seconds, 1)});
    loss = 0;
    losses = 0;
  }
  return table.text(columns_max);
}

std::vector<std::string> quality_cells(const session::FinishedRun& run) {
  const record::Metrics& final = run.record.final;
  if (!is_network(run)) return {console::significant(or_nothing(final.gap), 3)};
  return {console::significant(or_nothing(final.loss), 4),
          console::significant(*final.test_loss, 4),
          console::fixed(100 * or_nothing(final.accuracy), 2) + "%"};
}

std::vector<std::string> byte_cells(const session::FinishedRun& run) {
  const record::RunRecord& record = run.record;
  return {megabytes(record.traffic.bytes_sent), megabytes(record.traffic.bytes_received),
          console::significant(record::compression_ratio(record), 3)};
}

std::string share_skipped(const session::FinishedRun& run) {
  const record::RunRecord& record = run.record;
  const auto all = static_cast<double>(record.uploads + record.uploads_skipped);
  return console::fixed(all > 0 ? 100 * static_cast<double>(record.uploads_skipped) / all : 0, 0) +
         "%";
}

std::vector<std::string> time_cells(const session::FinishedRun& run, double compute_seconds) {
  const record::RunRecord& record = run.record;
  const auto steps = static_cast<double>(record.steps);
  std::vector<std::string> cells;
  for (const double seconds : {record.phases.compute_seconds, record.phases.encode_seconds,
                               record.phases.exchange_seconds, record.phases.decode_seconds}) {
    cells.push_back(console::fixed(1e3 * seconds / steps, 2));
  }
  for (const record::Bandwidth& link : record::kBandwidths) {
    cells.push_back(console::fixed(
        1e3 * record::predicted_step_seconds(record, link.bits_per_second, compute_seconds), 1));
  }
  return cells;
}

using Cells = std::vector<std::string>;

// The method, and the seed where runs differ in it: "natural, seed 2".
std::string name_of(const session::FinishedRun& run, std::span<const session::FinishedRun> runs) {
  const record::Json seed = run.record.configuration.value("seed", record::Json());
  const bool is_one_seed = std::ranges::all_of(runs, [&](const session::FinishedRun& other) {
    return other.record.configuration.value("seed", record::Json()) == seed;
  });
  return is_one_seed ? run.record.method : run.record.method + ", seed " + seed.dump();
}

std::string make_table(std::span<const session::FinishedRun> runs, const Cells& headings,
                       const std::function<Cells(const session::FinishedRun&)>& cells_of,
                       std::size_t columns_max) {
  std::vector<console::Table::Column> columns = {
      {.heading = "method", .align = console::Table::Align::left}};
  for (const std::string& heading : headings) columns.push_back({heading});
  console::Table table(std::move(columns));
  for (const session::FinishedRun& run : runs) {
    Cells cells = cells_of(run);
    cells.insert(cells.begin(), name_of(run, runs));
    table.add_row(std::move(cells));
  }
  return table.text(columns_max);
}

}  // namespace

void print_plans(std::span<const session::RunPlan> plans, const session::TrainOptions& options,
                 const launch::Placement& placement, const console::Console& console) {
  if (!placement.reports()) return;
  for (const session::RunPlan& plan : plans) {
    session::check_directory(plan.directory, options);
    fmt::print(console.out, "would train {} on {} with {}, {} workers ({}), into {}\n",
               options.model, options.data_or_usual(), parse_method(plan.method).spec,
               placement.size, placement.transport->name, plan.directory.string());
  }
}

std::string steps_table(const session::FinishedRun& run, std::size_t columns_max) {
  return is_network(run) ? network_steps_table(run, columns_max)
                         : convex_steps_table(run, columns_max);
}

std::vector<double> shared_compute_seconds(std::span<const session::FinishedRun> runs) {
  std::vector<const record::RunRecord*> records;
  for (const session::FinishedRun& run : runs) records.push_back(&run.record);
  return record::compute_seconds_per_step(records);
}

bool is_finite(const record::Metrics& final) {
  return std::isfinite(or_nothing(final.test_loss ? final.test_loss : final.loss));
}

std::string runs_table(std::span<const session::FinishedRun> runs, std::size_t columns_max) {
  const bool are_networks = !runs.empty() && is_network(runs.front());
  Cells results =
      are_networks ? Cells{"training\nloss", "test\nloss", "accuracy"} : Cells{"f - f*"};
  for (const char* heading : {"MB sent\nper worker", "MB\nreceived", "ratio"}) {
    results.emplace_back(heading);
  }
  const bool have_skipped = std::ranges::any_of(
      runs, [](const session::FinishedRun& run) { return run.record.uploads_skipped > 0; });
  if (have_skipped) results.emplace_back("uploads\nskipped");
  Cells times = {"ms per step:\ncompute", "\nencode", "\nexchange", "\ndecode"};
  for (const record::Bandwidth& link : record::kBandwidths) {
    times.push_back(fmt::format("predicted:\n{}", link.name));
  }
  const std::vector<double> compute_seconds = shared_compute_seconds(runs);
  return make_table(
             runs, results,
             [&](const session::FinishedRun& run) {
               Cells cells = quality_cells(run);
               for (auto& cell : byte_cells(run)) cells.push_back(std::move(cell));
               if (have_skipped) cells.push_back(share_skipped(run));
               return cells;
             },
             columns_max) +
         "\n" +
         make_table(
             runs, times,
             [&](const session::FinishedRun& run) {
               return time_cells(run, compute_seconds[static_cast<std::size_t>(&run - &runs[0])]);
             },
             columns_max);
}

}  // namespace gradwire::cli
