// RunReader: follows the record of one run in its directory, from before the run begins to its end.
// Needs bounded memory, however long the run is. For one thread at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <string>
#include <vector>

#include "gradwire/method/note.h"
#include "record/attendance.h"
#include "record/run_record.h"
#include "report/condensed_run.h"
#include "report/page.h"
#include "watch/line_reader.h"
#include "watch/run_state.h"

namespace gradwire::watch {

// Whether the directory has a file that a run writes.
bool is_run_directory(const std::filesystem::path& directory);

class RunReader {
 public:
  explicit RunReader(std::filesystem::path directory);

  // Reads what is new, at most about `bytes_max` bytes. Returns whether there may be more.
  bool read(std::size_t bytes_max);
  // Changes whenever the page would look different.
  std::uint64_t version() const { return version_; }

  const std::filesystem::path& directory() const { return directory_; }
  std::string method() const;
  // For a page. Its name is left to the caller.
  report::Run run() const;
  // `now` in seconds since 1970.
  RunState state(double now) const;

 private:
  // A small file that is read again when it has changed.
  struct Document {
    const char* name;
    std::filesystem::file_time_type time = {};
    std::uintmax_t size = 0;
    bool is_there = false;
    record::Json json = {};
  };

  void read_document(Document& document);
  bool read_steps(std::size_t bytes_max);
  void read_views(std::size_t bytes_max);
  void add_step(std::string_view line);
  void forget_steps();
  bool is_finished() const;
  record::RunRecord record() const;

  std::filesystem::path directory_;
  const std::vector<const NoteKind*> note_kinds_;
  // Later ones say more about the run.
  std::array<Document, 3> documents_;
  std::optional<record::RunRecord> known_;  // run.json, or else start.json
  std::string problem_;                     // of a document
  std::string steps_problem_;

  LineReader steps_file_;
  LineReader views_file_;
  report::CondensedRun steps_;
  std::uint64_t lines_ = 0;
  std::uint64_t last_step_ = 0;
  double learning_rate_ = 0;
  double exposed_seconds_ = 0;
  std::optional<std::uint64_t> members_;
  std::deque<double> recent_seconds_;  // of the latest steps
  std::deque<record::ViewRecord> views_;
  std::uint64_t views_seen_ = 0;
  std::uint64_t members_lost_ = 0;
  std::uint64_t version_ = 1;
};

}  // namespace gradwire::watch
