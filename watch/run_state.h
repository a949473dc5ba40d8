// RunState: where a run is, for its page, for /metrics and for people. A value type, and functions
// that write it down.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gradwire/core/telemetry.h"
#include "record/json_file.h"
#include "record/metrics.h"

namespace gradwire::watch {

struct RunState {
  enum class Phase {
    waiting,   // there is no step yet
    reading,   // the watcher has not read all steps that there are
    running,   // a step came not long ago
    quiet,     // none came for a while: the run is slow, was stopped or was killed
    finished,  // the run has ended, and its record is complete
    damaged,   // the record cannot be read; `problem` says why
  };

  // The total of a field of the method's notes.
  struct NoteFact {
    std::string note;
    std::string total;
    double value = 0;
  };

  std::string name = {};       // the method, where no other run has the same
  std::string directory = {};  // its name alone
  Phase phase = Phase::waiting;
  std::string problem = {};
  double share_read = 1;  // of the record's bytes
  std::uint64_t step = 0;
  std::uint64_t steps_seen = 0;  // in the record: a member of an elastic run may have begun later
  std::optional<std::uint64_t> steps_planned = {};
  double steps_per_second = 0;  // of the latest steps; 0: not known
  double age_seconds = 0;       // since the record grew
  double written_at = 0;        // when it grew, in seconds since 1970; 0: never
  std::uint64_t workers = 0;    // 0: not known. Of an elastic run: the members of the last step
  bool is_elastic = false;
  std::uint64_t views = 0;         // of an elastic run
  std::uint64_t members_lost = 0;  // of an elastic run: those that departed without leaving
  record::Metrics metrics = {};    // the latest value of each
  double learning_rate = 0;
  Traffic traffic = {};  // of all steps; the mean over the workers
  std::uint64_t uploads = 0;
  std::uint64_t uploads_skipped = 0;
  std::uint64_t poisoned = 0;
  Phases phases = {};  // of all steps, on rank 0
  double seconds = 0;
  double exposed_seconds = 0;  // the part of it that was not computing
  std::vector<NoteFact> notes = {};
};

const char* name(RunState::Phase phase);

// For the page and for `gradwire watch HOST:PORT`.
record::Json to_json(const RunState& state);
// Of what to_json wrote. Throws Error.
RunState state_from(const record::Json& document);

// "natural: step 1,200 of 5,000, loss 0.412, 31.2 steps/s, 2 min 02 s left"
std::string words_of(const RunState& state);

}  // namespace gradwire::watch
