// For tests: the record of a run that somebody is writing. Header only.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "gradwire/file/test_directory.h"
#include "record/run_record.h"
#include "record/step_records.h"

namespace gradwire::watch {

inline record::StepRecord step_of(std::uint64_t number) {
  return {.step = number,
          .metrics = {.loss = 1.0 / static_cast<double>(number)},
          .learning_rate = 0.5,
          .traffic = {.bytes_sent = 100, .bytes_received = 300},
          .uploads = 4,
          .phases = {.compute_seconds = 0.25, .exchange_seconds = 0.5},
          .seconds = 0.75};
}

inline void append_steps(const std::filesystem::path& run, std::uint64_t first,
                         std::uint64_t last) {
  const std::filesystem::path path = run / record::kStepsFile;
  const std::filesystem::path part = run / "part";
  record::StepWriter writer(part);
  for (std::uint64_t i = first; i <= last; ++i) {
    const record::StepRecord step = step_of(i);
    writer.write({&step, 1});
  }
  std::ofstream file(path, std::ios::app);
  file << read_text(part);
  std::filesystem::remove(part);
}

inline void append_text(const std::filesystem::path& path, std::string_view text) {
  std::ofstream(path, std::ios::app) << text;
}

inline record::RunRecord start_record(const std::string& method, std::uint64_t steps_planned) {
  record::RunRecord record;
  record.method = method;
  record.workers = 4;
  record.parameters = 1000;
  record.is_finished = false;
  record.configuration = {{"model", "mlp"}, {record::kStepsPlanned, steps_planned}};
  return record;
}

inline std::filesystem::path begin_run(const std::filesystem::path& directory,
                                       const std::string& method, std::uint64_t steps_planned) {
  std::filesystem::create_directories(directory);
  record::write_run(directory / record::kStartFile, start_record(method, steps_planned));
  return directory;
}

inline void end_run(const std::filesystem::path& directory, const std::string& method,
                    std::uint64_t steps) {
  record::RunRecord record = start_record(method, steps);
  record.is_finished = true;
  record.steps = steps;
  record.final.loss = 0.125;
  record::write_run(directory / record::kRunFile, record);
}

}  // namespace gradwire::watch
