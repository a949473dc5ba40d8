// run.json: the configuration and the results of a run, in one document. Value types, and functions
// that write and read them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "gradwire/core/telemetry.h"
#include "record/json_file.h"
#include "record/metrics.h"

namespace gradwire::record {

inline constexpr const char* kRunFile = "run.json";
// The same fields, written when the run begins: without results, and not finished.
inline constexpr const char* kStartFile = "start.json";
// In the configuration of kStartFile: how many steps the run will have.
inline constexpr const char* kStepsPlanned = "steps_planned";

Json to_json(const Metrics& metrics);
// Throws Error for a field that is no number.
Metrics metrics_from(const Json& document);

struct RunRecord {
  std::string method;  // the canonical spec
  std::size_t workers = 0;
  std::uint64_t steps = 0;
  std::uint64_t parameters = 0;  // floats that are averaged in a step
  Metrics start = {};
  Metrics final = {};
  Traffic traffic = {};       // of all steps; the mean over the workers
  std::uint64_t uploads = 0;  // of all workers together
  std::uint64_t uploads_skipped = 0;
  // Steps in which each rank came too late to be counted, by rank; empty, and not written, if none
  // did.
  std::vector<std::uint64_t> late = {};
  std::uint64_t poisoned = 0;  // steps with a NaN or an infinity; they do not change the model
  std::string model_hash;
  Phases phases = {};  // of all steps, on rank 0
  double seconds = 0;  // wall-clock time of the steps on rank 0
  // The notes of the method, keyed by NoteKind::run_name: a list of all notes with their steps, or
  // their totals. In run.json each key is a top-level field. A list is written even if it is empty.
  Json notes = Json::object();
  Json views = Json::array();  // of an elastic run: ViewRecords; written only if there are any
  Json configuration = Json::object();
  std::string version;
  Json machine = Json::object();
  bool is_finished = true;  // "finished" in run.json, written only if false: steps are still coming

  bool operator==(const RunRecord&) const = default;
};

Json to_json(const RunRecord& record);

// Ignores unknown fields. Throws Error that names a missing field, or one of another type.
RunRecord run_from_json(const Json& document);

// Throw FileError.
void write_run(const std::filesystem::path& path, const RunRecord& record);
RunRecord read_run(const std::filesystem::path& path);

}  // namespace gradwire::record
