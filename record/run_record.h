// run.json: what a run was and what it came to, in one document. Value types, and how they are
// written and read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

#include "gradwire/core/telemetry.h"
#include "record/json_file.h"
#include "record/metrics.h"

namespace gradwire::record {

inline constexpr const char* kRunFile = "run.json";

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
  std::uint64_t poisoned = 0;  // steps with a NaN or an infinity, which changed nothing
  std::string model_hash;
  Phases phases = {};  // of all steps, on rank 0
  double seconds = 0;  // of the steps, by the clock on the wall of rank 0
  // What the method noted in its steps, by the name that its kind has for the run: the list of all
  // notes with their steps, or their totals. The record has them as fields of their own; a list is
  // there even where it is empty.
  Json notes = Json::object();
  Json configuration = Json::object();
  std::string version;
  Json machine = Json::object();

  bool operator==(const RunRecord&) const = default;
};

Json to_json(const RunRecord& record);

// Fields that are not known are left alone. Throws Error that names the field which is missing or
// of another type.
RunRecord run_from_json(const Json& document);

// Throw FileError.
void write_run(const std::filesystem::path& path, const RunRecord& record);
RunRecord read_run(const std::filesystem::path& path);

}  // namespace gradwire::record
