// One rank's training run of a network: a session (session/rank/session.h) whose trainee is a
// learner, evaluated on the test set.
//
// A step with a NaN or an infinity in some gradient changes nothing, and is counted.
#pragma once

#include <cstdint>
#include <string>

#include "gradwire/collective/communicator.h"
#include "gradwire/method/method.h"
#include "session/rank/session.h"
#include "train/gradient_recorder.h"
#include "train/task.h"

namespace gradwire::train {

struct TrainingOptions {
  std::string method = {};
  MethodOptions exchange = {};       // its seed is the task's
  std::uint64_t evaluate_every = 0;  // steps; 0: at the end only
  RecordedSteps record_gradients = {};
  session::RunOptions run = {};  // evaluate_every says when it evaluates
};

// `final` has the mean training loss of the last epoch, on rank 0. The hash is that of parameters
// and averaged running statistics.
using TrainingResult = session::RunResult;

// Throws what train() would throw for a method that does not suit the model, the optimiser or the
// topology, before anything is done. All ranks call it.
void check_training(Communicator& communicator, const Task& task, const TrainingOptions& options);

// Throws Error where ranks differ and for what the method's traits forbid, what make_method throws,
// FileError, and PeerError.
TrainingResult train(Communicator& communicator, const Task& task, const TrainingOptions& options);

}  // namespace gradwire::train
