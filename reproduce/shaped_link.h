// Training between hosts whose links have a limited rate: network namespaces of this machine, made
// by tools/netlab.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "record/run_record.h"

namespace gradwire::reproduce {

struct ShapedRun {
  std::size_t hosts = 2;
  std::string rate = "100mbit";
  std::vector<std::string> arguments;  // behind `gradwire train`
  std::filesystem::path directory;     // of the run; what was there is replaced
};

// The reason why this machine cannot do that; empty if it can.
std::string why_no_shaped_link();

// Throws Error with the reason, and Stopped.
record::RunRecord train_on_shaped_link(const ShapedRun& run);

}  // namespace gradwire::reproduce
