#include "train/gradient_recorder.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <utility>

#include "gradwire/core/check.h"
#include "gradwire/core/error.h"
#include "gradwire/file/file_failure.h"
#include "gradwire/method/step_order.h"
#include "record/gradient_files.h"

namespace gradwire::train {
namespace {

constexpr std::uint64_t kStepsMax = 1'000'000'000'000;

std::uint64_t parse_step(std::string_view text, std::uint64_t least) {
  std::uint64_t step = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), step);
  const bool is_number = error == std::errc() && end == text.data() + text.size();
  if (is_number && step >= least && step <= kStepsMax) return step;
  throw Error("expected steps such as 0,50,300 or every=100, not '" + std::string(text) + "'");
}

}  // namespace

bool RecordedSteps::has(std::uint64_t step) const {
  return (every > 0 && step % every == 0) || std::ranges::binary_search(steps, step);
}

RecordedSteps parse_recorded_steps(std::string_view text) {
  constexpr std::string_view kEvery = "every=";
  RecordedSteps recorded;
  if (text.starts_with(kEvery)) {
    recorded.every = parse_step(text.substr(kEvery.size()), 1);
    return recorded;
  }
  for (;;) {
    const std::size_t comma = text.find(',');
    recorded.steps.push_back(parse_step(text.substr(0, comma), 0));
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
  }
  std::ranges::sort(recorded.steps);
  return recorded;
}

GradientRecorder::GradientRecorder(RecordedSteps steps, const std::filesystem::path& run_directory,
                                   std::vector<MethodTensor> tensors,
                                   std::optional<std::size_t> worker)
    : steps_(std::move(steps)),
      directory_(run_directory / kGradientFiles),
      tensors_(std::move(tensors)),
      worker_(worker) {}

void GradientRecorder::check_steps_before(std::uint64_t first) const {
  for (const std::uint64_t step : steps_.steps) {
    if (step >= first || !records(step) || std::filesystem::exists(file_of(step))) continue;
    throw Error("the gradients of step " + std::to_string(step) +
                " cannot be recorded any more: the run resumes after step " +
                std::to_string(first));
  }
}

TakeGradient GradientRecorder::taker(std::uint64_t step) {
  if (!records(step)) return {};
  values_.clear();
  values_.reserve(total_elements(tensors_));
  return [this](std::size_t, std::span<const float> gradient) {
    values_.insert(values_.end(), gradient.begin(), gradient.end());
  };
}

void GradientRecorder::write(std::uint64_t step) const {
  if (!records(step)) return;
  GW_CHECK(values_.size() == total_elements(tensors_));
  std::error_code failure;
  std::filesystem::create_directories(directory_, failure);
  if (failure) fail_file(directory_, "cannot be made: " + failure.message());
  if (*worker_ == 0) record::write_shapes(directory_ / record::kShapesFile, tensors_);
  const std::span<const float> values = values_;
  record::write_gradients(file_of(step), {&values, 1});
}

std::filesystem::path GradientRecorder::file_of(std::uint64_t step) const {
  std::string digits = std::to_string(step);
  digits.insert(0, std::max<std::size_t>(digits.size(), 4) - digits.size(), '0');
  return directory_ / ("step" + digits + "_worker" + std::to_string(*worker_) + ".f32");
}

}  // namespace gradwire::train
