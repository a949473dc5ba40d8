// Metrics: the quality of a model at some step. A value type.
#pragma once

#include <optional>

namespace gradwire::record {

// Unknown metrics are not written. A value that is not finite is written as null.
struct Metrics {
  std::optional<double> loss = {};  // on the training data
  std::optional<double> gap = {};   // loss minus the optimal loss
  std::optional<double> test_loss = {};
  std::optional<double> accuracy = {};  // on the test set, from 0 to 1
  std::optional<double> mean_iou = {};  // of segments: the mean over classes of the pixels that
                                        // are right, over those that have or are said to have one

  bool operator==(const Metrics&) const = default;
};

}  // namespace gradwire::record
