// Metrics: what is known of a model at some step. A value type.
#pragma once

#include <optional>

namespace gradwire::record {

// What is not known is not written. A value that is no finite number is null.
struct Metrics {
  std::optional<double> loss = {};  // of what is trained on
  std::optional<double> gap = {};   // loss minus the least possible
  std::optional<double> test_loss = {};
  std::optional<double> accuracy = {};  // on the test set, from 0 to 1

  bool operator==(const Metrics&) const = default;
};

}  // namespace gradwire::record
