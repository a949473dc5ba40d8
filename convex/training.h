// One rank's training run of a convex problem: a session (session/rank/session.h) whose trainee
// takes proximal steps along the gradient of its rows, averaged by a method.
//
//   x = prox_{gamma R}(x - gamma out)    where the method gives a gradient
//   x = prox_{gamma R}(x - out)          where it gives an update
//
// A step with a NaN or an infinity in some gradient changes nothing, and is counted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "convex/experiment.h"
#include "gradwire/collective/communicator.h"
#include "gradwire/method/method.h"
#include "session/rank/session.h"

namespace gradwire::convex {

struct TrainingOptions {
  std::string method = {};
  MethodOptions exchange = {};  // its seed is also that of the batches
  std::size_t batch = 0;        // rows that a worker draws for a step; 0: all that it has
  StepRule step_rule = {};
  StepFacts step_facts = {};  // of the experiment: found once for all ranks of a process

  session::RunOptions run = {};  // is_report_step() says when it evaluates

  // Rank 0 only, after run.on_ready: the least value of the objective, if it is known.
  std::function<std::optional<double>()> find_optimum = {};
};

// A checkpoint has the model as x.f64: raw 64-bit floats, little-endian.
struct TrainingResult : session::RunResult {
  double learning_rate = 0;
  std::vector<double> x = {};
};

// Throws Error where ranks differ, what make_method throws, FileError, and PeerError.
TrainingResult train(Communicator& communicator, const Experiment& experiment,
                     const TrainingOptions& options);

// Where the objective is looked at, of so many steps: about 20 times, and at the last one.
bool is_report_step(std::uint64_t step, std::uint64_t steps);

}  // namespace gradwire::convex
