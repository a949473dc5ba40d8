// A session: the training run of one rank, until all steps are done or the user asks to stop. It
// drives any trainee: steps, meetings of the ranks, comparisons of their models, evaluations,
// checkpoints and the step log.
//
// Ranks meet about twice a second, and where the model is evaluated or saved. At a meeting they add
// up their counts, rank 0 writes steps.jsonl, and all ranks learn whether one of them wants to
// stop. All ranks hold the same model; they compare it at evaluations and checkpoints.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gradwire/collective/communicator.h"
#include "gradwire/method/method.h"
#include "record/json_file.h"
#include "record/metrics.h"
#include "record/step_records.h"
#include "session/rank/trainee.h"

namespace gradwire::session {

// The progress of a run, for people.
struct Report {
  std::uint64_t step = 0;  // steps done
  std::uint64_t parameters = 0;
  std::optional<double> loss = {};  // the mean since the last report, where it is known
  record::Metrics metrics = {};     // of the last evaluation
  std::uint64_t bytes_up = 0;       // since the beginning of the run, the mean over the workers
  std::uint64_t quiet_steps = 0;    // those of them in which no worker sent anything
  double steps_per_second = 0;      // since the last report
  double seconds_left = 0;
  std::vector<std::string> notes = {};             // of the method, since the last report
  std::span<const record::StepRecord> steps = {};  // since the last report; valid during the call
};

struct RunOptions {
  std::uint64_t steps = 1000;
  // Whether the model is evaluated after `step` steps. After the last step it always is.
  std::function<bool(std::uint64_t step)> is_evaluated = {};

  std::filesystem::path directory = {};  // of the run; must exist when on_ready returns
  std::uint64_t checkpoint_every = 0;    // steps; 0: only when the run is stopped
  std::size_t checkpoints_kept = 2;      // and the best one
  bool resume = false;                   // continue after the newest checkpoint, if there is one
  record::Json configuration = {};       // a resumed run must have the same

  // Ranks wait for one another at a meeting. So late ranks need some steps between meetings.
  std::uint64_t meeting_steps_min = 1;

  // Called at meetings, on every rank. If it is true on one rank, the run stops with a checkpoint.
  std::function<bool()> wants_stop = {};

  // Rank 0 only. on_ready is called once, after all checks and before anything is written, with the
  // number of steps of earlier processes. on_report is called at meetings.
  std::function<void(std::uint64_t resumed_from)> on_ready = {};
  std::function<void(const Report& report)> on_report = {};
};

struct RunResult {
  std::string method = {};  // the canonical spec
  Topology topology = Topology::automatic;
  std::uint64_t parameters = 0;
  std::uint64_t resumed_from = 0;  // 0: from the start
  std::uint64_t steps_done = 0;    // fewer than asked for: the run was stopped
  record::Metrics final = {};      // of the last evaluation
  // Rank 0 only: every step, those before a resumption included.
  std::vector<record::StepRecord> steps = {};

  // Set by the caller of run_session.
  record::Metrics start = {};   // before the first step, where it is known; rank 0 only
  std::string model_hash = {};  // of the model that a finished run leaves
};

// All ranks call it. Throws Error if the models of ranks differ, FileError, PeerError, and the
// errors of the method and the trainee.
RunResult run_session(Communicator& communicator, Method& method, Trainee& trainee,
                      const RunOptions& options);

// Whether `step` is a multiple of `every`. False if `every` is 0.
inline bool is_due(std::uint64_t step, std::uint64_t every) {
  return every > 0 && step % every == 0;
}
// The same where ranks differ between exchanges: what falls due waits for the end of the round.
inline bool is_due(const MethodTraits& traits, std::uint64_t step, std::uint64_t every) {
  if (step <= traits.after || traits.every == 1) return is_due(step, every);
  return every > 0 && traits.is_round_end(step) && step / every > (step - traits.every) / every;
}

}  // namespace gradwire::session
