#include "record/step_scalars.h"

#include <optional>

namespace gradwire::record {

std::vector<Scalar> scalars_of(const StepRecord& step, double ring_bytes) {
  constexpr double kMsPerSecond = 1e3;
  std::vector<Scalar> scalars;
  const auto add_known = [&](const char* tag, const std::optional<double>& value) {
    if (value) scalars.push_back({tag, *value});
  };
  const auto add_ms = [&](const char* tag, double seconds) {
    scalars.push_back({tag, kMsPerSecond * seconds});
  };
  add_known("train/loss", step.metrics.loss);
  add_known("train/gap", step.metrics.gap);
  add_known("test/loss", step.metrics.test_loss);
  add_known("test/accuracy", step.metrics.accuracy);
  add_known("test/mean_iou", step.metrics.mean_iou);
  scalars.push_back({"train/learning_rate", step.learning_rate});
  const auto sent = static_cast<double>(step.traffic.bytes_sent);
  scalars.push_back({"gradwire/bytes_per_step", sent});
  if (sent > 0) scalars.push_back({"gradwire/ratio", ring_bytes / sent});
  add_ms("gradwire/compute_ms", step.phases.compute_seconds);
  add_ms("gradwire/encode_ms", step.phases.encode_seconds);
  add_ms("gradwire/exchange_ms", step.phases.exchange_seconds);
  add_ms("gradwire/decode_ms", step.phases.decode_seconds);
  add_ms("gradwire/step_ms", step.seconds);
  return scalars;
}

void write_scalars(std::span<const StepRecord> steps, double ring_bytes, EventFile& file) {
  for (const StepRecord& step : steps) file.add(step.step, scalars_of(step, ring_bytes));
  file.flush();
}

}  // namespace gradwire::record
