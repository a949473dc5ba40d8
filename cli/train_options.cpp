#include "cli/train_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <limits>

#include "cli/options.h"
#include "cli/worker_options.h"
#include "convex/problem.h"
#include "convex/step_size.h"
#include "gradwire/core/error.h"
#include "gradwire/core/usage_error.h"
#include "gradwire/method/parsed_method.h"
#include "session/network_task.h"
#include "train/gradient_recorder.h"
#include "train/model.h"

namespace gradwire::cli {
namespace {

constexpr std::size_t kBatchMax = 1'000'000'000;
constexpr std::uint64_t kStepsMax = 1'000'000'000'000;

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

// A number from `least` on, and not infinite.
CLI::Validator at_least(double least) {
  return CLI::Validator(
      [least](const std::string& text) -> std::string {
        double number = 0;
        const bool is_number = CLI::detail::lexical_cast(text, number);
        if (is_number && number >= least && number <= std::numeric_limits<double>::max()) return "";
        if (least > 0) return fmt::format("expected a number above 0, not '{}'", text);
        return fmt::format("expected a number of at least {}, not '{}'", least, text);
      },
      "");
}

void add_problem_options(CLI::App& app, session::TrainOptions& options) {
  app.add_option(
         "--model", options.model,
         fmt::format("{}; or logistic, least-squares", fmt::join(train::example_models(), ", ")))
      ->type_name("M")
      ->capture_default_str();
  app.add_option("--data", options.data,
                 "fashion-mnist, mnist, cifar10, generated, generated-text, generated-segments, or "
                 "a file or directory "
                 "of idx, CIFAR-binary, LIBSVM or text [the default of the model]")
      ->type_name("D");
  app.add_option("--split", options.split, "Samples to workers: iid, label or dirichlet(A)")
      ->type_name("SPEC")
      ->capture_default_str();
  auto* regulariser = app.add_option("--regulariser", options.regulariser,
                                     "R: none, l1(A), l2(A), elastic(l1=A, l2=B) or "
                                     "box(low=A, high=B) [none]")
                          ->type_name("SPEC");
  app.add_option("--l1", options.l1, "Short for --regulariser 'l1(A)'")
      ->excludes(regulariser)
      ->type_name("A");
}

void add_step_options(CLI::App& app, TrainArguments& arguments) {
  session::TrainOptions& options = arguments.options;
  app.add_option("--steps", options.steps, "Steps [1000; of networks, --epochs]")
      ->transform(whole_number(1, kStepsMax))
      ->type_name("N");
  auto* full = app.add_flag("--full-batch", options.full_batch,
                            "Each worker uses all its rows in every step: the default of "
                            "logistic and least-squares");
  app.add_option("--batch,--batch-size", options.batch,
                 "Samples per worker and step [64 for networks, 16 for text]")
      ->transform(whole_number(1, kBatchMax))
      ->excludes(full)
      ->type_name("N");
  app.add_option("--seed", options.seed,
                 "Seed of weights, generated data, splits, batches, dropout and rounding")
      ->transform(whole_number(0, std::numeric_limits<std::uint64_t>::max()))
      ->type_name("N")
      ->capture_default_str();
  arguments.convex_only.push_back(full);
}

void add_convex_options(CLI::App& app, TrainArguments& arguments) {
  session::TrainOptions& options = arguments.options;
  const std::string group = "For logistic and least-squares";
  arguments.convex_only.push_back(
      app.add_option("--l2", options.convex.l2,
                     "Adds V/2 |x|^2 to the loss; L/100 is a hundredth of the loss's smoothness")
          ->check(checked_by(convex::parse_l2_rule))
          ->type_name("V")
          ->capture_default_str()
          ->group(group));
  arguments.convex_only.push_back(app.add_option("--step", options.convex.step,
                                                 "The step size: auto, a number, or 0.5/L; with "
                                                 "/(1+t/100) behind it, steps become shorter")
                                      ->check(checked_by(convex::parse_step_rule))
                                      ->type_name("V")
                                      ->capture_default_str()
                                      ->group(group));
}

// Adds options of networks only.
class NetworkOptionAdder {
 public:
  NetworkOptionAdder(CLI::App& app, TrainArguments& arguments) : app_(app), arguments_(arguments) {}

  template <class T>
  CLI::Option* add(const std::string& name, T& variable, const std::string& what,
                   const std::string& type) {
    return note(app_.add_option(name, variable, what)->type_name(type));
  }
  void add_flag(const std::string& name, bool& variable, const std::string& what) {
    note(app_.add_flag(name, variable, what));
  }

 private:
  CLI::Option* note(CLI::Option* option) {
    arguments_.network_only.push_back(option);
    return option->group("For networks");
  }

  CLI::App& app_;
  TrainArguments& arguments_;
};

void add_network_options(CLI::App& app, TrainArguments& arguments) {
  session::NetworkOptions& network = arguments.options.network;
  NetworkOptionAdder adder(app, arguments);
  adder.add("--epochs", network.epochs, "Epochs: how often each sample is used [3]", "E")
      ->check(at_least(1e-6));
  adder
      .add("--learning-rate,--lr", network.learning_rate,
           "Learning rate [0.05; for adam and adamw 0.001]", "V")
      ->check(at_least(1e-30));
  adder
      .add("--optimiser,--optimizer", network.optimiser,
           "sgd(momentum=0, nesterov=off, decay=0), adam or adamw", "SPEC")
      ->capture_default_str();
  adder
      .add("--schedule", network.schedule,
           "constant, step(every=30, factor=0.1) in epochs, or cosine(last=0)", "SPEC")
      ->capture_default_str();
  adder.add("--warmup", network.warmup_epochs, "Epochs in which the rate rises from zero", "E")
      ->check(at_least(0))
      ->capture_default_str();
  adder.add("--clip", network.clip, "Largest norm of the averaged gradient [none]", "V")
      ->check(at_least(1e-30));
  adder
      .add("--accumulate", network.accumulate,
           "Batches whose gradients each worker adds up before an exchange", "N")
      ->transform(whole_number(1, 1'000'000))
      ->capture_default_str();
  adder.add_flag("--balance", network.balance,
                 "Share the batch of each step among the workers in proportion to their speeds");
  adder.add("--grace", network.grace,
            "Do not wait for late workers when this share of all has delivered, such as 75% [wait]",
            "SHARE");
  adder
      .add("--slow-rank", network.slow_rank, "Slows ranks down, for measurements",
           "RANK:FACTOR,...")
      ->group("");
  adder
      .add("--away", network.away,
           "Local steps that a rank leaves out, for measurements: all but one of N, or N in turns",
           "RANK:N|turns:N")
      ->group("");
  adder.add("--threads", network.threads, "Threads of each worker [cores / workers]", "N")
      ->transform(whole_number(1, kThreadsMax));
  adder
      .add("--evaluate-every", network.evaluate_every,
           "Steps between evaluations on the test set [an epoch, or a fifth of the run]", "N")
      ->transform(whole_number(1, kStepsMax));
  adder.add("--keep", network.keep, "Checkpoints to keep, in addition to the best one", "N")
      ->transform(whole_number(1, 1'000'000))
      ->capture_default_str();
  adder
      .add(
          "--record-gradients", network.record_gradients,
          "Record each worker's own gradients in gradients/ of the run's directory, for steps such "
          "as 0,50,300, counted from 0, or every=N [none]",
          "STEPS")
      ->check(checked_by(train::parse_recorded_steps));
  adder.add("--context", network.context, "Tokens per sample of text [128]", "N")
      ->transform(whole_number(1, 1'000'000));
  adder.add_flag("--words", network.words, "Cut text into words instead of characters");
  adder.add_flag("--no-augmentation", network.no_augmentation, "Do not augment training samples");
}

void add_record_options(CLI::App& app, session::TrainOptions& options) {
  app.add_option("--out", options.out,
                 "The directory to write to [runs/MODEL-DATA-METHOD, and the options that you set]")
      ->type_name("DIR");
  auto* overwrite =
      app.add_flag("--overwrite", options.overwrite, "Replace what an earlier run left there");
  app.add_flag("--resume", options.resume, "Resume after the newest checkpoint in the directory")
      ->excludes(overwrite);
  app.add_option("--checkpoint-every", options.checkpoint_every,
                 "Steps between checkpoints; 0 for none [networks: --evaluate-every]")
      ->transform(whole_number(0, kStepsMax))
      ->type_name("N");
  app.add_option("--tensorboard", options.tensorboard,
                 "A directory for TensorBoard's event files: loss, accuracy, bytes and times of "
                 "every step [none]")
      ->type_name("DIR");
}

void refuse_given(const std::vector<const CLI::Option*>& options, const std::string& model,
                  const char* what) {
  for (const CLI::Option* option : options) {
    if (option->count() == 0) continue;
    throw UsageError(fmt::format("{} is for {}, not for {}", option->get_name(), what, model));
  }
}

}  // namespace

void add_train_options(CLI::App& app, TrainArguments& arguments) {
  add_problem_options(app, arguments.options);
  add_step_options(app, arguments);
  add_network_options(app, arguments);
  add_convex_options(app, arguments);
  add_worker_options(app, arguments.options.workers);
  add_levels_option(app, arguments.options.workers);
  add_record_options(app, arguments.options);
  app.add_flag("--dry-run", arguments.dry_run, "Check everything, say what would run, and stop");
  add_config_option(app);
  add_json_option(app, arguments.json);
}

void check_arguments(const TrainArguments& arguments, const std::vector<std::string>& methods) {
  const session::TrainOptions& options = arguments.options;
  session::check_options(options, methods);
  if (options.is_convex()) {
    refuse_given(arguments.network_only, options.model, "networks");
  } else {
    refuse_given(arguments.convex_only, options.model, "logistic and least-squares");
  }
  if (!session::grace_of(options).is_given()) return;
  for (const std::string& method : methods) {
    const std::string why = why_not_late(parse_method(method), options.workers.topology());
    if (!why.empty()) throw UsageError(why);
  }
}

}  // namespace gradwire::cli
