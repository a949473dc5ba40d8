// gradwire compare: the same training run for each of several methods, side by side.
#include <fmt/format.h>
#include <fmt/ostream.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>
#include <set>

#include "cli/commands.h"
#include "cli/given_arguments.h"
#include "cli/options.h"
#include "cli/run_tables.h"
#include "cli/train_options.h"
#include "console/json.h"
#include "gradwire/core/usage_error.h"
#include "report/read_runs.h"
#include "session/train_runs.h"

namespace gradwire::cli {
namespace {

using console::Json;

struct CompareCommand {
  TrainArguments arguments;
  std::vector<std::string> methods = {"none", "natural", "natural | entropy",
                                      "ef(topk(1%) | natural)"};
};

// A directory of its own for each run.
std::vector<session::RunPlan> make_plans(const CompareCommand& command,
                                         const std::filesystem::path& directory) {
  const std::filesystem::path tensorboard = command.arguments.options.tensorboard;
  std::vector<session::RunPlan> plans;
  std::set<std::string> names;
  for (const std::string& method : command.methods) {
    std::string name = session::safe_name(method);
    for (int copy = 2; !names.insert(name).second; ++copy) {
      name = fmt::format("{}-{}", session::safe_name(method), copy);
    }
    plans.push_back(
        {method, directory / name, tensorboard.empty() ? tensorboard : tensorboard / name});
  }
  return plans;
}

Json to_json(std::span<const session::FinishedRun> runs) {
  Json list = Json::array();
  for (const session::FinishedRun& run : runs) {
    Json entry = {{"directory", run.directory.filename().string()},
                  {"compression_ratio", record::compression_ratio(run.record)}};
    for (const record::Bandwidth& link : record::kBandwidths) {
      entry["predicted_step_ms"][link.name] =
          1e3 * record::predicted_step_seconds(run.record, link.bits_per_second);
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

void run(const CompareCommand& command, const CLI::App& parsed, const console::Console& console) {
  const session::TrainOptions& options = command.arguments.options;
  check_arguments(command.arguments, command.methods);
  const std::filesystem::path directory = session::output_directory(options, "compare");
  const launch::Placement placement = launch::find_placement(options.workers);
  const auto plans = make_plans(command, directory);
  if (placement.reports()) {
    for (const std::string& method : command.methods) warn_of_share(method, console);
  }
  if (command.arguments.dry_run) return print_plans(plans, options, placement, console);
  if (std::filesystem::exists(directory / record::kRunFile)) {
    throw UsageError(directory.string() + " holds a single run: give another --out");
  }
  const auto runs = session::run_plans(options, plans, placement, given_arguments(parsed), console);
  if (runs.empty()) return;  // another process reports
  const Json document = to_json(runs);
  record::write_json_file(directory / report::kCompareFile, document);
  const std::filesystem::path page = session::write_page(directory);
  if (command.arguments.json) {
    console::print_json(document, console);
  } else {
    for (const session::FinishedRun& run : runs) print_divergence(run, console);
    fmt::print(console.out, "{}\nThe runs are in {}\nThe page is {}\n",
               runs_table(runs, console.columns), directory.string(), page.string());
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
      ->allow_extra_args(false)
      ->capture_default_str();
  add_train_options(*app, command->arguments);
  app->footer(
      "Example:\n"
      "  gradwire compare --model cnn --epochs 2 --methods none --methods natural \\\n"
      "    --methods 'ef(topk(1%) | natural)'");
  app->callback([command, app, &console] { run(*command, *app, console); });
}

}  // namespace gradwire::cli
