// Trainee: the interface of a session to the network or convex problem that it trains. A trainee
// can take a step with a method, and be compared, evaluated, saved and loaded. Each rank has its
// own. All ranks make the same calls at the same steps. For one thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "gradwire/core/telemetry.h"
#include "gradwire/method/method.h"
#include "record/json_fwd.h"
#include "record/metrics.h"
#include "record/step_log.h"

namespace gradwire::session {

// A step on one rank.
struct StepDone {
  record::StepRecord record;  // the counts are this rank's own
  record::Tally tally = {};
};

struct Evaluated {
  record::Metrics metrics = {};  // those of rank 0 are written down
  Traffic traffic = {};          // of the evaluation itself
};

class Trainee {
 public:
  virtual ~Trainee() = default;

  // Floats that are averaged in a step.
  virtual std::uint64_t parameters() const = 0;

  // A step of all ranks; the first is step 0.
  virtual StepDone step(Method& method, std::uint64_t step) = 0;

  // At a meeting of the ranks after a step: numbers of this rank, as many on all ranks, and what
  // all ranks have together. So ranks can agree on something for the next steps.
  virtual std::vector<std::uint64_t> own_numbers() { return {}; }
  virtual void take_sums(std::span<const std::uint64_t> /*sums*/) {}

  // A hash of all data that must be the same on all ranks after each step.
  virtual std::uint64_t hash() = 0;

  // `step` steps were done.
  virtual Evaluated evaluate(std::uint64_t step) = 0;
  // Whether a checkpoint with these metrics is kept instead of the best one so far.
  virtual bool is_better(const record::Metrics& metrics, const record::Metrics& than) const = 0;

  // Writes this rank's files of a checkpoint, and those that ranks share if it leads its disk.
  // Returns fields for the manifest: those of rank 0 are written. Throws FileError.
  virtual record::Json save(const std::filesystem::path& directory, bool leads_disk) = 0;
  // Reads a checkpoint of `step` steps; the manifest has the fields that save() returned. Throws
  // FileError for a damaged one.
  virtual void load(const std::filesystem::path& directory, std::uint64_t step,
                    const record::Json& manifest) = 0;
};

}  // namespace gradwire::session
