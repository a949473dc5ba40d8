// The head of a page: what was run, on what. Fields that a record lacks are left out. Pure
// functions.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "report/page.h"

namespace gradwire::report {

struct Fact {
  std::string name;   // "Workers"
  std::string value;  // "4"; where runs differ, all that there are

  bool operator==(const Fact&) const = default;
};

// "resnet20 on fashion-mnist"
std::string title_of(std::span<const Run> runs);

std::vector<Fact> facts_of(std::span<const Run> runs);

}  // namespace gradwire::report
