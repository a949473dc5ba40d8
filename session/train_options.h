// The options of a training run: model, data, workers, training and output. Value types.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "launch/worker_options.h"

namespace gradwire::session {

// Of logistic regression and least squares.
struct ConvexOptions {
  std::string l2 = "L/100";
  std::string step = "auto";
};

// Of networks.
struct NetworkOptions {
  std::optional<double> epochs;
  std::optional<double> learning_rate;
  std::string optimiser = "sgd";
  std::string schedule = "constant";
  double warmup_epochs = 0;
  std::optional<double> clip;
  std::size_t accumulate = 1;
  bool balance = false;
  std::string grace;                   // a share of the ranks; empty: all are waited for
  std::string slow_rank;               // "3:4" or "0:2,3:8"; for measurements, empty: none
  std::string away;                    // "3:4" or "turns:30"; for measurements, empty: none
  std::optional<std::size_t> threads;  // of a worker
  std::optional<std::uint64_t> evaluate_every;
  std::size_t keep = 2;
  std::optional<std::string> record_gradients;
  std::optional<std::size_t> context;
  bool words = false;
  bool no_augmentation = false;
};

// Whether a model is a convex problem with a known optimum, and not a network.
bool is_convex_model(const std::string& model);

// The default data set of a model.
std::string usual_data(const std::string& model);

struct TrainOptions {
  std::string model = "cnn";
  std::string data;  // empty: the default of the model
  std::string split = "iid";
  launch::WorkerOptions workers = {.workers_default = 4};
  std::optional<std::uint64_t> steps;
  std::optional<std::size_t>
      batch;  // empty: all rows of a convex problem, or the default of networks
  bool full_batch = false;
  std::optional<std::string> l1;
  std::optional<std::string> regulariser;
  std::uint64_t seed = 1;
  std::string out;  // empty: a name made from model, data and method
  bool overwrite = false;
  bool resume = false;
  std::string tensorboard;  // a directory for event files; empty: none
  std::optional<std::uint64_t> checkpoint_every;
  ConvexOptions convex;
  NetworkOptions network;

  bool is_convex() const { return is_convex_model(model); }
  std::string data_or_usual() const { return data.empty() ? usual_data(model) : data; }
  std::string regulariser_spec() const;
};

// Throws SpecError and UsageError for mistakes that can be found before the workers start.
void check_options(const TrainOptions& options, const std::vector<std::string>& methods);

}  // namespace gradwire::session
