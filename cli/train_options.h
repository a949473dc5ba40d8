// The options of train and compare, as they were given, and what they mean together. The variables
// must outlive the call to parse.
#pragma once

#include <CLI/CLI.hpp>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cli/worker_options.h"

namespace gradwire::cli {

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
  std::optional<std::size_t> threads;  // of a worker
  std::optional<std::uint64_t> evaluate_every;
  std::size_t keep = 2;
  std::optional<std::string> record_gradients;
  std::optional<std::size_t> context;
  bool words = false;
  bool no_augmentation = false;
};

struct TrainOptions {
  std::string model = "cnn";
  std::string data;  // empty: what is usual for the model
  std::string split = "iid";
  WorkerOptions workers = {.workers_default = 4};
  std::optional<std::uint64_t> steps;
  std::optional<std::size_t> batch;  // nothing: all rows, or what is usual for networks
  bool full_batch = false;
  std::optional<std::string> l1;
  std::optional<std::string> regulariser;
  std::uint64_t seed = 1;
  std::string out;  // empty: named after what is run
  bool overwrite = false;
  bool resume = false;
  std::optional<std::uint64_t> checkpoint_every;
  bool json = false;
  ConvexOptions convex;
  NetworkOptions network;

  // The options that were given for the other kind of model, for errors.
  std::vector<const CLI::Option*> convex_only;
  std::vector<const CLI::Option*> network_only;

  bool is_convex() const;
  std::string data_or_usual() const;
  std::string regulariser_spec() const;
};

void add_train_options(CLI::App& app, TrainOptions& options);

// Throws SpecError and UsageError for what can be refused before anything is started.
void check_options(const TrainOptions& options, const std::vector<std::string>& methods);

}  // namespace gradwire::cli
