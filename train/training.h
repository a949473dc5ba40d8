// One worker's training run of a network: steps by a method, evaluations and checkpoints, until all
// steps are done or somebody asks to stop. All ranks hold the same parameters and compare them as
// they go.
//
// A step with a NaN or an infinity in some gradient changes nothing, and is counted.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "gradwire/collective/communicator.h"
#include "gradwire/method/method.h"
#include "record/json_file.h"
#include "record/step_log.h"
#include "train/gradient_recorder.h"
#include "train/task.h"

namespace gradwire::train {

// How a run is doing, for people.
struct Report {
  std::uint64_t step = 0;  // how many were done
  std::uint64_t parameters = 0;
  double loss = 0;                // the mean since the last report
  record::Metrics metrics = {};   // of the last evaluation
  std::uint64_t bytes_up = 0;     // since the beginning of the run, the mean over the workers
  double samples_per_second = 0;  // of all workers, since the last report
  double seconds_left = 0;
  std::vector<std::string> notes = {};  // what the method says since the last report
};

struct TrainingOptions {
  std::string method = {};
  MethodOptions exchange = {};  // its seed is the task's
  std::uint64_t steps = 1000;
  std::uint64_t evaluate_every = 0;  // steps; 0: at the end only
  RecordedSteps record_gradients = {};

  std::filesystem::path directory = {};  // of the run; must exist when on_ready returns
  std::uint64_t checkpoint_every = 0;    // steps; 0: only when the run is stopped
  std::size_t checkpoints_kept = 2;      // and the best one
  bool resume = false;                   // go on behind the newest checkpoint, if there is one
  record::Json configuration = {};       // what a run that goes on must have the same

  // Somebody wants the run to stop: asked now and then, on every rank. The run stops when one rank
  // says so, with a checkpoint.
  std::function<bool()> wants_stop = {};

  // Rank 0 only: when everything has been checked and nothing was written yet, with the step that
  // the run goes on behind; and a few times a second.
  std::function<void(std::uint64_t resumed_from)> on_ready = {};
  std::function<void(const Report& report)> on_report = {};
};

struct TrainingResult {
  std::string method;  // the canonical specs
  std::string model;
  Topology topology = Topology::automatic;
  std::uint64_t parameters = 0;
  std::uint64_t resumed_from = 0;  // 0: from the start
  std::uint64_t steps_done = 0;    // fewer than asked for: the run was stopped
  std::string model_hash;          // of parameters and averaged running statistics

  // Rank 0 only: every step, those before a resumption included.
  record::Metrics final = {};
  std::vector<record::StepRecord> steps = {};
};

// Throws what train() would throw for a method that does not suit the model, the optimiser or the
// topology, before anything is done. All ranks call it.
void check_training(Communicator& communicator, const Task& task, const TrainingOptions& options);

// Throws Error where ranks differ and for what the method's traits forbid, what make_method throws,
// FileError, and PeerError.
TrainingResult train(Communicator& communicator, const Task& task, const TrainingOptions& options);

}  // namespace gradwire::train
