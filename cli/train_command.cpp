// gradwire train: one training run, with its record.
#include <fmt/format.h>
#include <fmt/ostream.h>

#include <limits>
#include <memory>
#include <ostream>

#include "cli/commands.h"
#include "cli/format.h"
#include "cli/json.h"
#include "cli/launch.h"
#include "cli/options.h"
#include "cli/table.h"
#include "cli/train_command_convex.h"

namespace gradwire::cli {
namespace {

constexpr std::size_t kBatchMax = 1'000'000'000;
constexpr std::uint64_t kStepsMax = 1'000'000'000'000;

struct TrainCommand {
  TrainOptions options;
  bool full_batch = false;
};

// For Option::check: what the parser refuses, in its words.
template <class Parse>
auto checked_by(Parse parse) {
  return [parse](const std::string& text) -> std::string {
    try {
      parse(text);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
}

std::string steps_table(const ConvexRun& run) {
  Table table({{.heading = "step"},
               {.heading = "f - f*"},
               {.heading = "MB sent\nper worker"},
               {.heading = "bits per\ncoordinate"}});
  std::uint64_t bytes_up = 0;
  std::uint64_t message_bytes = 0;
  const auto add = [&](std::uint64_t step, const record::Metrics& metrics) {
    table.add_row(
        {thousands(step), significant(metrics.gap.value_or(std::nan("")), 3),
         fixed(static_cast<double>(bytes_up) * 1e-6, 3),
         fixed(8 * static_cast<double>(message_bytes) / static_cast<double>(run.features), 1)});
  };
  add(0, run.result.start);
  for (const record::StepRecord& step : run.result.steps) {
    bytes_up += step.bytes_up;
    message_bytes += step.message_bytes;
    if (step.metrics.gap) add(step.step, step.metrics);
  }
  return table.text();
}

void print_run(const ConvexRun& run, const TrainOptions& options, const WorkerPlace& place,
               const Console& console) {
  fmt::print(console.out,
             "{}\n"
             "{} on {} ({} rows, {} features), {} by {} worker{} ({}, {}), split {}, {}.\n"
             "The step is {}, l2 is {}, R is {}; f* is known to {}{}.\n",
             steps_table(run), options.model, run.data_name, thousands(run.rows),
             thousands(run.features), run.result.method, place.size, place.size == 1 ? "" : "s",
             name(place.transport), name(run.result.topology), options.split,
             options.batch ? fmt::format("batches of {}", *options.batch) : "full batch",
             significant(run.result.learning_rate, 4),
             significant(run.record.configuration["l2"].get<double>(), 4),
             run.record.configuration["regulariser"].get<std::string>(),
             significant(run.optimum.error, 1), run.optimum.is_proven ? "" : " (an estimate)");
  if (run.record.poisoned > 0) {
    fmt::print(console.out, "{} steps met a NaN or an infinity and changed nothing.\n",
               thousands(run.record.poisoned));
  }
  if (run.result.resumed_from > 0) {
    fmt::print(console.out, "It went on behind step {}.\n", thousands(run.result.resumed_from));
  }
  fmt::print(console.out, "The run is in {}\n", run_directory(options).string());
}

void run(const TrainCommand& command, const CLI::App& parsed, const Console& console) {
  const TrainOptions& options = command.options;
  check_options(options);
  const WorkerPlace place = find_place(options.workers);
  if (place.role == Role::starter) {
    check_run_directory(options);
    launch_workers({.arguments = given_arguments(parsed), .workers = place.size});
    return;
  }
  const ConvexRun done = run_convex(options, place, console);
  if (!place.reports()) return;
  if (options.json) {
    print_json(to_json(done.record), console);
  } else {
    print_run(done, options, place, console);
  }
}

// What is minimised.
void add_problem_options(CLI::App& app, TrainOptions& options) {
  app.add_option("--model", options.model, "logistic or least-squares")
      ->check(checked_by(convex::loss_of))
      ->type_name("M")
      ->capture_default_str();
  app.add_option("--data", options.data, "A LIBSVM file; a small generated problem if not given")
      ->type_name("FILE");
  app.add_option("--split", options.split, "Rows to workers: iid, label or dirichlet(A)")
      ->type_name("SPEC")
      ->capture_default_str();
  app.add_option("--l2", options.l2,
                 "Adds V/2 |x|^2 to the loss; L/100 is a hundredth of the loss's smoothness")
      ->check(checked_by(convex::parse_l2_rule))
      ->type_name("V")
      ->capture_default_str();
  auto* regulariser = app.add_option("--regulariser", options.regulariser,
                                     "R: none, l1(A), l2(A), elastic(l1=A, l2=B) or "
                                     "box(low=A, high=B) [none]")
                          ->type_name("SPEC");
  app.add_option("--l1", options.l1, "Short for --regulariser 'l1(A)'")
      ->excludes(regulariser)
      ->type_name("A");
}

// How it is minimised.
void add_training_options(CLI::App& app, TrainCommand& command) {
  TrainOptions& options = command.options;
  app.add_option("--method", options.method, "How gradients are averaged: a codec or a method")
      ->type_name("SPEC")
      ->capture_default_str();
  add_count_option(app, "--steps", options.steps, kStepsMax, "Steps");
  auto* full = app.add_flag("--full-batch", command.full_batch,
                            "Every worker uses all its rows in every step: the default");
  app.add_option("--batch", options.batch, "Rows that every worker draws for a step")
      ->transform(whole_number(1, kBatchMax))
      ->excludes(full)
      ->type_name("N");
  app.add_option("--step", options.step, "The step size: auto, a number, or 0.5/L")
      ->check(checked_by(convex::parse_step_rule))
      ->type_name("V")
      ->capture_default_str();
  app.add_option("--seed", options.seed, "Of generated data, splits, batches and all rounding")
      ->transform(whole_number(0, std::numeric_limits<std::uint64_t>::max()))
      ->type_name("N")
      ->capture_default_str();
}

// What it leaves behind.
void add_record_options(CLI::App& app, TrainOptions& options) {
  app.add_option("--out", options.out, "The run's directory [runs/MODEL-DATA-METHOD]")
      ->type_name("DIR");
  auto* overwrite =
      app.add_flag("--overwrite", options.overwrite, "Replace a run that is in the directory");
  app.add_flag("--resume", options.resume, "Go on behind the newest checkpoint in the directory")
      ->excludes(overwrite);
  app.add_option("--checkpoint-every", options.checkpoint_every,
                 "Steps from one checkpoint to the next [none]")
      ->transform(whole_number(1, kStepsMax))
      ->type_name("N");
}

}  // namespace

void add_train_command(CLI::App& program, const Console& console) {
  auto* app = program.add_subcommand("train", "One training run, with its record");
  auto command = std::make_shared<TrainCommand>();
  add_problem_options(*app, command->options);
  add_training_options(*app, *command);
  add_worker_options(*app, command->options.workers);
  add_record_options(*app, command->options);
  add_json_option(*app, command->options.json);
  app->footer(
      "Example:\n"
      "  gradwire train --model logistic --data mushrooms --split label --workers 20 \\\n"
      "    --method 'diana(natural)' --steps 2000");
  app->callback([command, app, &console] { run(*command, *app, console); });
}

}  // namespace gradwire::cli
