// gradwire train: one training run, with its record.
#include <fmt/format.h>
#include <fmt/ostream.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <ostream>

#include "cli/commands.h"
#include "cli/elastic_options.h"
#include "cli/given_arguments.h"
#include "cli/options.h"
#include "cli/run_tables.h"
#include "cli/train_options.h"
#include "cli/train_warnings.h"
#include "console/format.h"
#include "console/json.h"
#include "gradwire/method/parsed_method.h"
#include "record/step_log.h"
#include "session/run_directory.h"
#include "session/train_runs.h"

namespace gradwire::cli {
namespace {

struct TrainCommand {
  TrainArguments arguments;
  ElasticArguments elastic;
  std::string method = "none";
};

// "cnn on fashion-mnist (60,000 samples), natural with 4 workers (in-process, scatter), split iid."
std::string describe(const session::FinishedRun& run, const session::TrainOptions& options) {
  const record::Json& how = run.record.configuration;
  const auto text = [&](const char* field) { return how.at(field).get<std::string>(); };
  const auto count = [&](const char* field) { return console::thousands(how.at(field)); };
  const std::size_t workers = run.record.workers;
  const std::string who =
      fmt::format("{} with {} worker{} ({}, {}), split {}", run.record.method, workers,
                  workers == 1 ? "" : "s", text("transport"), text("topology"), text("split"));
  if (options.is_convex()) {
    const record::Json& optimum = how.at("optimum");
    return fmt::format(
        "{} on {} ({} rows, {} features), {}, {}.\n"
        "The step is {}, l2 is {}, R is {}; f* is known to {}{}.\n",
        text("model"), text("data"), count("rows"), count("features"), who,
        options.batch ? fmt::format("batches of {}", *options.batch) : "full batch",
        console::significant(how.at("learning_rate"), 4), console::significant(how.at("l2"), 4),
        text("regulariser"), console::significant(optimum.at("error"), 1),
        optimum.at("is_proven") ? "" : " (an estimate)");
  }
  return fmt::format(
      "{} ({} parameters) on {} ({} samples), {}, batches of {}.\n"
      "{}, rate {} ({}). Without compression, a ring all-reduce sends {} times as many bytes.\n",
      text("model"), console::thousands(run.record.parameters), text("data"),
      count("train_samples"), who, count("batch"), text("optimiser"),
      console::significant(how.at("learning_rate"), 4), text("schedule"),
      console::significant(record::compression_ratio(run.record), 3));
}

// What the method noted in its steps, all together.
std::string describe_notes(const session::FinishedRun& run) {
  const NoteKind* const kind = parse_method(run.record.method).note;
  if (kind == nullptr || kind->summary == nullptr) return "";
  const std::string summary =
      kind->summary(record::totals_of(*kind, run.steps), run.record.seconds);
  return summary.empty() ? "" : summary + '\n';
}

void print_run(const session::FinishedRun& run, const session::TrainOptions& options,
               const std::filesystem::path& page, const console::Console& console) {
  fmt::print(console.out, "{}\n{}", steps_table(run, console.columns), describe(run, options));
  fmt::print(console.out, "{}", describe_notes(run));
  if (run.record.poisoned > 0) {
    fmt::print(console.out, "{} steps met a NaN or an infinity and changed nothing.\n",
               console::thousands(run.record.poisoned));
  }
  const std::uint64_t resumed_from = run.record.configuration.at("resumed_from");
  if (resumed_from > 0) {
    fmt::print(console.out, "It was resumed after step {}.\n", console::thousands(resumed_from));
  }
  fmt::print(console.out, "The run is in {}\nThe page is {}\n", run.directory.string(),
             page.string());
}

void check_converged(const session::FinishedRun& run, const session::TrainOptions& options) {
  if (is_finite(run.record.final)) return;
  throw Error(
      fmt::format("the run diverged: its last loss is not finite. Take a shorter {}; its record is "
                  "in {}",
                  options.is_convex() ? "--step" : "--learning-rate", run.directory.string()));
}

void finish(const session::FinishedRun& done, const TrainCommand& command,
            const console::Console& console) {
  const std::filesystem::path page = session::write_page(done.directory);
  if (command.arguments.json) {
    console::print_json(to_json(done.record), console);
  } else {
    print_run(done, command.arguments.options, page, console);
  }
  check_converged(done, command.arguments.options);
}

// Newcomers have no --dry-run: their settings come from the run.
void print_founding(const TrainCommand& command, const console::Console& console) {
  const session::TrainOptions& options = command.arguments.options;
  const auto directory = session::output_directory(options, command.method);
  session::check_directory(directory, options);
  fmt::print(console.out, "would found a run of {} on {} with {}, listening on {}, into {}\n",
             options.model, options.data_or_usual(), parse_method(command.method).spec,
             command.elastic.options.listen, directory.string());
}

void run(TrainCommand& command, const CLI::App& parsed, const console::Console& console) {
  const session::TrainOptions& options = command.arguments.options;
  check_elastic(parsed, options, command.method, command.elastic);
  check_arguments(command.arguments, {command.method});
  if (command.elastic.is_member()) {
    if (command.arguments.dry_run) return print_founding(command, console);
    finish(session::run_elastic(options, command.method, command.elastic.options, console), command,
           console);
    return;
  }
  const session::RunPlan plan{command.method, session::output_directory(options, command.method),
                              options.tensorboard};
  const launch::Placement placement = launch::find_placement(options.workers);
  if (placement.reports()) warn_of_training(options, {command.method}, console);
  if (command.arguments.dry_run) return print_plans({&plan, 1}, options, placement, console);
  const auto runs =
      session::run_plans(options, {&plan, 1}, placement, given_arguments(parsed), console);
  if (runs.empty()) return;  // another process reports
  finish(runs.front(), command, console);
}

}  // namespace

void add_train_command(CLI::App& program, const console::Console& console) {
  auto* app = program.add_subcommand(
      "train", "Train a network or a convex problem, and write a record and a page");
  auto command = std::make_shared<TrainCommand>();
  app->add_option("--method", command->method, "How gradients are averaged: a codec or a method")
      ->type_name("SPEC")
      ->capture_default_str();
  add_train_options(*app, command->arguments);
  add_elastic_options(*app, command->elastic);
  app->footer(
      "Examples:\n"
      "  gradwire train --model cnn --data fashion-mnist --method 'ef(topk(1%) | natural)'\n"
      "  gradwire train --model logistic --data generated --split label --workers 20 \\\n"
      "    --method 'diana(natural)' --steps 2000\n"
      "  gradwire train --elastic --listen 10.0.0.1:29400 --secret run.secret --model cnn\n"
      "  gradwire train --join 10.0.0.1:29400 --listen 10.0.0.2:29400 --secret run.secret");
  app->callback([command, app, &console] { run(*command, *app, console); });
}

}  // namespace gradwire::cli
