// ElasticLog: the record of one member of an elastic run: steps.jsonl with the steps that it took
// part in, views.jsonl with the views. note() is for any thread, everything else for the trainer's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gradwire/elastic/elastic_group.h"
#include "record/attendance.h"
#include "record/step_records.h"

namespace gradwire::session {

// The first digits of an id are enough for people.
std::string short_id(const membership::MemberId& id);

class ElasticLog {
 public:
  // Keeps the steps of an earlier process up to `step`, if they are there.
  ElasticLog(const std::filesystem::path& directory, std::uint64_t step, bool has_memory);

  // The group had `turn` turns and the run `step` steps when this process became a member.
  void start(std::uint64_t turn, std::uint64_t step) { turns_ = {{turn, step}}; }

  // A view; other events are ignored.
  void note(const ElasticEvent& event);
  // Writes down the views that were noted, and returns them in words, for people.
  std::vector<std::string> take_changes();

  // A step that was committed in turn `turn`.
  void add_step(std::uint64_t turn, record::StepRecord step);
  // An average that was committed after it, and the metrics that it brought, if any.
  void add_average(std::uint64_t turn, const Traffic& traffic, const record::Metrics& metrics);
  // Writes what is there.
  void flush();

  const std::vector<record::StepRecord>& steps() const { return steps_; }
  std::vector<record::StepRecord> take_steps() { return std::move(steps_); }
  record::Json views() const;

 private:
  std::uint64_t step_at(std::uint64_t turn) const;
  record::ViewRecord describe(const ElasticEvent& event);

  const bool has_memory_;
  record::StepWriter step_writer_;
  record::ViewWriter view_writer_;
  std::vector<record::StepRecord> steps_;
  std::size_t written_ = 0;  // of them
  std::deque<std::pair<std::uint64_t, std::uint64_t>>
      turns_;  // recent turns, and the steps by then
  std::vector<record::ViewRecord> views_;

  std::mutex mutex_;
  std::vector<ElasticEvent> noted_;          // not yet written
  std::vector<membership::Member> members_;  // of the last view
};

}  // namespace gradwire::session
