// The options of train for runs whose members come and go. The variables must outlive the call to
// parse.
#pragma once

#include "session/train_elastic.h"

namespace CLI {
class App;
}

namespace gradwire::cli {

struct ElasticArguments {
  bool is_elastic = false;
  session::ElasticTrainOptions options;

  // Whether this process is a member of an elastic run.
  bool is_member() const { return is_elastic || !options.join.empty(); }
};

void add_elastic_options(CLI::App& app, ElasticArguments& arguments);

// Throws UsageError for options that do not fit together, and Error for a method that cannot be
// used while members come and go. `app` has parsed its options.
void check_elastic(const CLI::App& app, const session::TrainOptions& options,
                   const std::string& method, ElasticArguments& arguments);

}  // namespace gradwire::cli
