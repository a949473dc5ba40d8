// The page that a run leaves behind: one HTML file that opens without a network. Its numbers come
// from the records alone.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "record/run_record.h"
#include "record/step_records.h"

namespace gradwire::report {

struct Run {
  std::string name = {};  // how the page calls it; the method, where there are several
  record::RunRecord record = {};
  std::vector<record::StepRecord> steps = {};
};

// The page as a text.
std::string make_page(std::span<const Run> runs);

// The file appears whole or not at all. Throws FileError.
void write_page(const std::filesystem::path& path, std::span<const Run> runs);

}  // namespace gradwire::report
