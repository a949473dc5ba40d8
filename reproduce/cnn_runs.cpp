#include "reproduce/cnn_runs.h"

#include <fmt/format.h>

#include "console/format.h"
#include "reproduce/run_curves.h"
#include "reproduce/run_means.h"

namespace gradwire::reproduce {
namespace {

constexpr double kLearningRate = 0.05;

}  // namespace

session::TrainOptions cnn_options(std::uint64_t steps, std::uint64_t evaluate_every,
                                  std::uint64_t seed) {
  session::TrainOptions options;
  options.model = "cnn";
  options.data = "fashion-mnist";
  options.workers.workers = 4;
  options.steps = steps;
  options.seed = seed;
  options.network.learning_rate = kLearningRate;
  options.network.schedule = "cosine";
  options.network.evaluate_every = evaluate_every;
  return options;
}

std::string cnn_text(std::span<const session::FinishedRun> runs) {
  const record::RunRecord& run = runs.front().record;
  return fmt::format(
      "a cnn of {} parameters on Fashion-MNIST, {} workers, {} steps, a rate of {} that falls to "
      "zero, {}",
      console::thousands(run.parameters), run.workers, run.steps, kLearningRate, seeds_text(runs));
}

Picture cnn_accuracy_picture(std::string name) {
  return {.name = std::move(name),
          .title = "Accuracy against bytes, a cnn on Fashion-MNIST",
          .x_label = "MB sent per worker",
          .y_label = "test accuracy",
          .log_x = true,
          .log_y = false,
          .curves = {}};
}

Curve cnn_accuracy_curve(const session::FinishedRun& run, std::string label) {
  return curve_of(run, std::move(label), &record::Metrics::accuracy, Along::megabytes);
}

}  // namespace gradwire::reproduce
