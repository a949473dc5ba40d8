// Training of a network by members that come and go, from options to a record. This process is one
// of them: it founds a run, or joins one.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "console/console.h"
#include "session/run_directory.h"
#include "session/train_options.h"

namespace gradwire::session {

struct ElasticTrainOptions {
  std::string listen = "127.0.0.1:0";
  std::string address;            // what others are told, if it differs
  std::vector<std::string> join;  // empty: this process founds a run
  std::size_t members_least = 1;
  std::optional<std::size_t> silence_seconds;
  std::optional<std::size_t> wait_seconds;
  std::string checkpoint_to;  // empty: in the directory of the record
};

// Of a founder, `method` and all options count. Of a newcomer, only those of this process: threads,
// security, directories, and the place of the data. Throws UsageError for options that do not fit,
// Stopped if the user stopped it, and Error with the reason if the run is over for this process.
FinishedRun run_elastic(const TrainOptions& options, const std::string& method,
                        const ElasticTrainOptions& elastic, const console::Console& console);

}  // namespace gradwire::session
