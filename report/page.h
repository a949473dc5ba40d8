// The page that a run leaves behind: one HTML file that opens without a network. Its numbers come
// from the records alone.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "record/run_record.h"
#include "record/step_records.h"
#include "report/note_counts.h"

namespace gradwire::report {

// Notes that were taken out of their steps, since not all of them are kept.
struct KeptNotes {
  NoteCounts counts;                           // of all
  std::vector<record::StepRecord> steps = {};  // some, in their order
};

struct Run {
  std::string name = {};  // how the page calls it; the method, where there are several
  record::RunRecord record = {};
  std::vector<record::StepRecord> steps = {};
  std::vector<std::uint64_t> counts = {};  // of steps added up in each of them; empty: one
  std::vector<KeptNotes> notes = {};       // a kind that is not here has its notes in the steps
};

// The page as a text.
std::string make_page(std::span<const Run> runs);

// The page of runs that go on, from their document (document.h). Its script asks the server that it
// came from for the state of the runs every second, and for a new document if there is one.
std::string make_live_page(const record::Json& document);

// The file appears whole or not at all. Throws FileError.
void write_page(const std::filesystem::path& path, std::span<const Run> runs);

}  // namespace gradwire::report
