// Writes down a worker's own gradients of some steps, as they are before anything is compressed or
// averaged: DIRECTORY/gradients/step0050_worker0.f32, and shapes.json for all of them (see
// record/gradient_files.h). Changes nothing about the training. For one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

#include "gradwire/method/method.h"

namespace gradwire::train {

inline constexpr const char* kGradientFiles = "gradients";  // in a run's directory

// Which steps, counted from 0: step 0 is that of the first weights.
struct RecordedSteps {
  std::vector<std::uint64_t> steps = {};  // ascending
  std::uint64_t every = 0;                // and all multiples of it; 0: none

  bool has(std::uint64_t step) const;
};

// "0,50,300", or "every=100". Throws Error.
RecordedSteps parse_recorded_steps(std::string_view text);

class GradientRecorder {
 public:
  // `worker` is empty for a rank without samples: it has no gradient to write.
  GradientRecorder(RecordedSteps steps, const std::filesystem::path& run_directory,
                   std::vector<MethodTensor> tensors, std::optional<std::size_t> worker);

  // Throws Error if a step that was named lies behind and was not written down then.
  void check_steps_before(std::uint64_t first) const;

  // What is to see the step's gradients, in the order of the tensors; empty if nothing is.
  TakeGradient taker(std::uint64_t step);
  // When all ranks take part in the step, so that the directory is that of this run. Throws
  // FileError.
  void write(std::uint64_t step) const;

 private:
  bool records(std::uint64_t step) const { return worker_ && steps_.has(step); }
  std::filesystem::path file_of(std::uint64_t step) const;

  RecordedSteps steps_;
  std::filesystem::path directory_;
  std::vector<MethodTensor> tensors_;
  std::optional<std::size_t> worker_;
  std::vector<float> values_;  // of the step, all tensors
};

}  // namespace gradwire::train
