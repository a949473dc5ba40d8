// The options of commands that have workers. The variables must outlive the call to parse.
#pragma once

#include "launch/worker_options.h"

namespace CLI {
class App;
}

namespace gradwire::cli {

void add_worker_options(CLI::App& app, launch::WorkerOptions& options);
// --hosts, of commands that run methods.
void add_levels_option(CLI::App& app, launch::WorkerOptions& options);

}  // namespace gradwire::cli
