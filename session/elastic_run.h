// One member's training run in an elastic group: turns, evaluations, checkpoints and the record,
// until all steps are done, the user asks to stop, or the group is over for this process. The
// counterpart of session/rank/session.h, in which ranks stay.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "gradwire/elastic/elastic_group.h"
#include "record/json_file.h"
#include "record/step_records.h"
#include "session/elastic_checkpoints.h"
#include "session/rank/session.h"
#include "train/elastic_learner.h"

namespace gradwire::session {

struct ElasticRunOptions {
  std::string method = {};
  std::uint64_t steps = 1;
  std::uint64_t checkpoint_every = 0;    // steps; 0: only when it ends or waits
  std::filesystem::path directory = {};  // of the record; must exist
  ElasticOptions group = {};             // on_event and buffers are set by the run

  // Called once, when this process is a member.
  std::function<void()> on_member = {};
  // Polled on a thread of its own. If it is true, this member leaves in order.
  std::function<bool()> wants_stop = {};
  // What people want to know. Called by several threads, one at a time.
  std::function<void(const std::string& text)> say = {};
  std::function<void(const Report& report)> on_report = {};
};

struct ElasticRunResult {
  bool is_finished = false;
  std::uint64_t steps_done = 0;  // of the run
  std::size_t members = 1;       // in the last turn
  ElasticEnd end = {};
  std::vector<record::StepRecord> steps = {};  // that are in this member's record
  record::Json views = record::Json::array();
};

// Throws what ElasticGroup throws, and FileError.
ElasticRunResult run_elastic_member(train::ElasticLearner& learner, ElasticCheckpoints& checkpoints,
                                    const ElasticRunOptions& options);

}  // namespace gradwire::session
