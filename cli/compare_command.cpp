// gradwire compare: the same training run for each of several methods, side by side.
#include <fmt/format.h>
#include <fmt/ostream.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>
#include <set>

#include "cli/commands.h"
#include "cli/given_arguments.h"
#include "cli/options.h"
#include "cli/run_tables.h"
#include "cli/train_options.h"
#include "cli/train_warnings.h"
#include "console/format.h"
#include "console/json.h"
#include "console/table.h"
#include "gradwire/core/usage_error.h"
#include "report/headline.h"
#include "report/read_runs.h"
#include "report/rows.h"
#include "session/train_runs.h"

namespace gradwire::cli {
namespace {

using console::Json;

struct CompareCommand {
  TrainArguments arguments;
  std::vector<std::string> methods = {"none", "natural", "natural | entropy",
                                      "ef(topk(1%) | natural)"};
  std::size_t seeds = 1;
};

// A directory of its own for each run.
std::vector<session::RunPlan> make_plans(const CompareCommand& command,
                                         const std::filesystem::path& directory,
                                         std::uint64_t seed) {
  const std::filesystem::path tensorboard = command.arguments.options.tensorboard;
  std::vector<session::RunPlan> plans;
  std::set<std::string> names;
  for (const std::string& method : command.methods) {
    const std::string base =
        session::safe_name(command.seeds == 1 ? method : fmt::format("{}-seed{}", method, seed));
    std::string name = base;
    for (int copy = 2; !names.insert(name).second; ++copy) name = fmt::format("{}-{}", base, copy);
    plans.push_back(
        {method, directory / name, tensorboard.empty() ? tensorboard : tensorboard / name});
  }
  return plans;
}

Json to_json(std::span<const session::FinishedRun> runs) {
  Json list = Json::array();
  const std::vector<double> compute_seconds = shared_compute_seconds(runs);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const session::FinishedRun& run = runs[i];
    Json entry = {{"directory", run.directory.filename().string()},
                  {"compression_ratio", record::compression_ratio(run.record)}};
    for (const record::Bandwidth& link : record::kBandwidths) {
      entry["predicted_step_ms"][link.name] =
          1e3 *
          record::predicted_step_seconds(run.record, link.bits_per_second, compute_seconds[i]);
    }
    const Json record = record::to_json(run.record);
    for (const auto& [field, value] : record.items()) entry[field] = value;
    list.push_back(std::move(entry));
  }
  return {{"runs", list}};
}

void print_divergence(const session::FinishedRun& run, const console::Console& console) {
  if (is_finite(run.record.final)) return;
  fmt::print(console.err, "gradwire: {} diverged: its last loss is not finite\n",
             run.record.method);
}

// "81.6 +- 0.2": the mean over the seeds, and the standard deviation of one run.
std::string mean_and_spread(const std::vector<double>& values, double factor, int decimals) {
  double sum = 0;
  for (const double value : values) sum += factor * value;
  const double mean = sum / static_cast<double>(values.size());
  double squares = 0;
  for (const double value : values) squares += std::pow(factor * value - mean, 2);
  const double spread = std::sqrt(squares / static_cast<double>(values.size() - 1));
  return console::fixed(mean, decimals) + " +- " + console::fixed(spread, decimals);
}

// One row for each method, over its seeds.
std::string seeds_table(const std::vector<std::string>& methods,
                        std::span<const session::FinishedRun> runs, std::size_t columns_max) {
  const bool are_networks = runs.front().record.final.accuracy.has_value();
  console::Table table({{.heading = "method", .align = console::Table::Align::left},
                        {.heading = are_networks ? "accuracy, %" : "f - f*, 1e-6"},
                        {.heading = "ratio"}});
  for (std::size_t i = 0; i < methods.size(); ++i) {
    std::vector<double> quality;
    for (std::size_t run = i; run < runs.size(); run += methods.size()) {
      const record::Metrics& final = runs[run].record.final;
      quality.push_back((are_networks ? final.accuracy : final.gap).value_or(std::nan("")));
    }
    table.add_row(
        {methods[i],
         are_networks ? mean_and_spread(quality, 100, 2) : mean_and_spread(quality, 1e6, 3),
         console::significant(record::compression_ratio(runs[i].record), 3)});
  }
  return table.text(columns_max);
}

// The sentence at the head of the page, on a line of its own.
std::string headline(std::span<const session::FinishedRun> runs) {
  std::vector<report::Run> reported;
  for (const session::FinishedRun& run : runs) {
    reported.push_back({.name = run.record.method, .record = run.record});
  }
  const std::string sentence = report::headline_of(reported, report::rows_of(reported));
  return sentence.empty() ? "" : sentence + "\n\n";
}

// All methods with one seed after the other.
std::vector<session::FinishedRun> run_all(const CompareCommand& command,
                                          const std::filesystem::path& directory,
                                          const launch::Placement& placement,
                                          const std::vector<std::string>& arguments,
                                          const console::Console& console) {
  std::vector<session::FinishedRun> runs;
  session::TrainOptions options = command.arguments.options;
  const std::uint64_t first = options.seed;
  for (std::size_t i = 0; i < command.seeds; ++i) {
    options.seed = first + i;
    const auto plans = make_plans(command, directory, options.seed);
    for (auto& run : session::run_plans(options, plans, placement, arguments, console)) {
      runs.push_back(std::move(run));
    }
    if (placement.role == launch::Role::starter) break;  // its workers take all seeds
  }
  return runs;
}

void run(const CompareCommand& command, const CLI::App& parsed, const console::Console& console) {
  const session::TrainOptions& options = command.arguments.options;
  check_arguments(command.arguments, command.methods);
  const std::filesystem::path directory = session::output_directory(options, "compare");
  const launch::Placement placement = launch::find_placement(options.workers);
  if (placement.reports()) warn_of_training(options, command.methods, console);
  if (command.arguments.dry_run) {
    for (std::size_t i = 0; i < command.seeds; ++i) {
      print_plans(make_plans(command, directory, options.seed + i), options, placement, console);
    }
    return;
  }
  if (std::filesystem::exists(directory / record::kRunFile)) {
    throw UsageError(directory.string() + " holds a single run: give another --out");
  }
  const auto runs = run_all(command, directory, placement, given_arguments(parsed), console);
  if (runs.empty()) return;  // another process reports
  const Json document = to_json(runs);
  record::write_json_file(directory / report::kCompareFile, document);
  const std::filesystem::path page = session::write_page(directory);
  if (command.arguments.json) {
    console::print_json(document, console);
  } else {
    for (const session::FinishedRun& run : runs) print_divergence(run, console);
    if (command.seeds > 1) {
      fmt::print(console.out, "Mean and standard deviation over {} seeds:\n{}\n", command.seeds,
                 seeds_table(command.methods, runs, console.columns));
    }
    fmt::print(console.out, "{}\n{}The runs are in {}\nThe page is {}\n",
               runs_table(runs, console.columns), headline(runs), directory.string(),
               page.string());
  }
}

}  // namespace

void add_compare_command(CLI::App& program, const console::Console& console) {
  auto* app = program.add_subcommand(
      "compare", "Train with several methods, one after the other, and compare them");
  auto command = std::make_shared<CompareCommand>();
  app->add_option("--methods", command->methods,
                  "A codec or a method; repeat the option, or separate specs with ';'")
      ->type_name("SPEC")
      ->delimiter(';')
      ->transform(trimmed())
      ->allow_extra_args(false)
      ->capture_default_str();
  add_count_option(*app, "--seeds", command->seeds, 1000,
                   "Repeat all runs with so many seeds, from --seed on");
  add_train_options(*app, command->arguments);
  app->footer(
      "Example:\n"
      "  gradwire compare --model cnn --epochs 2 --seeds 3 --methods 'none; natural; "
      "ef(topk(1%) | natural)'");
  app->callback([command, app, &console] { run(*command, *app, console); });
}

}  // namespace gradwire::cli
