// RunLog: the record of a run of a program in Python, on all its ranks: rank 0 writes run.json and
// steps.jsonl, as the trainer does, so that `gradwire report` makes a page of them. For one thread
// at a time; the communicator must outlive it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "gradwire/collective/communicator.h"
#include "gradwire/method/method.h"
#include "record/run_record.h"
#include "record/step_log.h"

namespace gradwire::python {

// What a program knows of a step. Losses are averaged over the ranks' samples; all else is rank
// 0's.
struct Remark {
  std::optional<double> loss = {};
  std::uint64_t samples = 1;
  std::optional<double> test_loss = {};
  std::optional<double> accuracy = {};
};

class RunLog {
 public:
  struct Options {
    std::filesystem::path directory;  // made if it is not there
    std::string description = "{}";   // what was run: a JSON object
    bool overwrite = false;           // a record that is there already
  };

  // All ranks at once; throws Error on all where rank 0 cannot write.
  RunLog(Communicator& communicator, const Options& options);

  void set_method(const std::string& spec) { record_.method = spec; }
  void set_parameters(std::uint64_t parameters) { record_.parameters = parameters; }

  // A step that was done, and what is known of it. Both wait until settle() before the next one: by
  // then everything is known. All ranks at the same steps. Throws PeerError and FileError.
  void note(const MethodReport& report, const StepContext& context, double compute_seconds);
  void add(const Remark& remark);
  void settle();

  // The rest is written. All ranks at once.
  void finish();

 private:
  void meet();
  void write(bool is_finished);

  Communicator& communicator_;
  const std::filesystem::path directory_;
  record::RunRecord record_;
  record::StepLog log_;
  std::optional<record::StepRecord> step_;  // noted, and not settled
  record::Tally tally_;                     // of it
  record::Metrics metrics_;                 // of it
  double last_note_ = 0;                    // by a clock, in seconds
  double last_write_ = 0;
};

}  // namespace gradwire::python
