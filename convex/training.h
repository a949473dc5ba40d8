// One worker's training run: gradients of its rows, averaged by a method, and proximal steps, until
// all steps are done. All ranks hold the same x and compare it as they go.
//
//   x = prox_{gamma R}(x - gamma out)    where the method gives a gradient
//   x = prox_{gamma R}(x - out)          where it gives an update
//
// A step with a NaN or an infinity in some gradient changes nothing, and is counted.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "convex/experiment.h"
#include "gradwire/collective/communicator.h"
#include "gradwire/method/method.h"
#include "record/json_file.h"
#include "record/step_records.h"

namespace gradwire::convex {

struct TrainingOptions {
  std::string method = {};
  MethodOptions exchange = {};  // its seed is also that of the batches
  std::uint64_t steps = 1000;
  std::size_t batch = 0;  // rows that a worker draws for a step; 0: all that it has
  StepRule step_rule = {};
  StepFacts step_facts = {};  // of the experiment: found once for all ranks of a process

  std::filesystem::path directory = {};  // of the run; must exist when on_ready returns
  std::uint64_t checkpoint_every = 0;    // steps; 0: none
  bool resume = false;                   // go on behind the newest checkpoint, if there is one
  record::Json configuration = {};       // what a run that goes on must have the same

  // When everything has been checked and nothing was written yet, with the step that the run goes
  // on behind; rank 0 only. Returns the least value of the objective, if it is known.
  std::function<std::optional<double>(std::uint64_t resumed_from)> on_ready = {};
  // Before each step; rank 0 only.
  std::function<void(std::uint64_t step)> on_step = {};
};

struct TrainingResult {
  std::string method;  // the canonical spec
  Topology topology = Topology::automatic;
  double learning_rate = 0;
  std::uint64_t resumed_from = 0;  // 0: from the start
  std::string model_hash;
  std::vector<double> x;

  // Rank 0 only: where it began and ended, and every step, those before a resumption included.
  record::Metrics start = {};
  record::Metrics final = {};
  std::vector<record::StepRecord> steps = {};
};

// Throws Error where ranks differ, what make_method throws, FileError, and PeerError.
TrainingResult train(Communicator& communicator, const Experiment& experiment,
                     const TrainingOptions& options);

// Where the objective is looked at, of so many steps: about 20 times, and at the last one.
bool is_report_step(std::uint64_t step, std::uint64_t steps);

}  // namespace gradwire::convex
