// CodeNote: how a method that learns a code fares in a step, for logs and records. A value type.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gradwire {

struct CodeNote {
  // What this rank sent in the step, by what it was for. The same names in the same order in all
  // steps and on all ranks; together they are MethodReport::bytes_sent.
  struct Part {
    std::string name;  // "places"
    std::uint64_t bytes = 0;

    bool operator==(const Part&) const = default;
  };

  std::string phase;  // "full", "sparse" or "coded"
  std::vector<Part> parts = {};

  // Of the decoded mean, relative to the mean, for values that the code has not learned from: as it
  // was, or an estimate where nobody knows the mean. Nothing where nothing was coded.
  std::optional<double> error = {};
  bool is_estimate = false;
  double learn_seconds = 0;  // that the code took to learn
  std::string remark = {};   // a sentence where something has changed; usually empty

  bool operator==(const CodeNote&) const = default;
};

}  // namespace gradwire
