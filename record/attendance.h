// The attendance of an elastic run, whose members come and go: who took part in each step and which
// samples it used (a field of steps.jsonl), and how the membership changed (views.jsonl, one line
// for each view). Value types, and functions that write and read them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <vector>

#include "record/json_file.h"

namespace gradwire::record {

inline constexpr const char* kViewsFile = "views.jsonl";

// Of one step. The members of its view took part in it.
struct Attendance {
  std::uint64_t view = 0;
  std::uint64_t unix_ms = 0;  // when this member committed it: milliseconds since 1970
  std::size_t members = 0;
  std::size_t attempts = 1;  // more than one if members were lost during the step
  std::uint64_t epoch = 0;
  // Ranges of positions in the order of the epoch, from the first to before the second number.
  std::vector<std::array<std::uint64_t, 2>> samples = {};

  bool operator==(const Attendance&) const = default;
};

Json to_json(const Attendance& attendance);
// Throws Error.
Attendance attendance_from(const Json& document);

struct ViewMember {
  std::string id;
  std::string address;

  bool operator==(const ViewMember&) const = default;
};

struct DepartedMember {
  std::string id;
  std::string why;           // "left", "closed", "silent", ...
  bool lost_memory = false;  // the method has a memory, and this member's part of it is gone

  bool operator==(const DepartedMember&) const = default;
};

struct ViewRecord {
  std::uint64_t view = 0;
  std::uint64_t step = 0;  // the view began after so many steps of the run
  std::vector<ViewMember> members = {};
  std::vector<std::string> joined = {};  // ids
  std::vector<DepartedMember> departed = {};
  double change_seconds = 0;  // how long the change took, on this member
  std::string text = {};      // why it began

  bool operator==(const ViewRecord&) const = default;
};

Json to_json(const ViewRecord& view);
// Throws Error.
ViewRecord view_from(const Json& document);

// Appends lines to a file. Throws FileError.
class ViewWriter {
 public:
  explicit ViewWriter(const std::filesystem::path& path, bool is_continued);
  void write(const ViewRecord& view);

 private:
  std::filesystem::path path_;
  std::ofstream file_;
};

}  // namespace gradwire::record
