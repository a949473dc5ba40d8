// The options of train and compare. The variables must outlive the call to parse.
#pragma once

#include <string>
#include <vector>

#include "session/train_options.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace gradwire::cli {

struct TrainArguments {
  session::TrainOptions options;
  bool json = false;
  bool dry_run = false;

  // The options for one kind of model only, for errors.
  std::vector<const CLI::Option*> convex_only;
  std::vector<const CLI::Option*> network_only;
};

void add_train_options(CLI::App& app, TrainArguments& arguments);

// Throws SpecError and UsageError for what can be refused before anything is started.
void check_arguments(const TrainArguments& arguments, const std::vector<std::string>& methods);

}  // namespace gradwire::cli
