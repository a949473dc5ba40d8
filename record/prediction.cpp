#include "record/prediction.h"

#include <algorithm>

namespace gradwire::record {
namespace {

double measured_compute_seconds(const RunRecord& run) {
  return run.steps == 0 ? 0 : run.phases.compute_seconds / static_cast<double>(run.steps);
}

bool is_same_task(const RunRecord& a, const RunRecord& b) {
  const auto value = [](const RunRecord& run, const char* field) {
    return run.configuration.is_object() ? run.configuration.value(field, Json()) : Json();
  };
  const auto is_same = [&](const char* field) { return value(a, field) == value(b, field); };
  return a.parameters == b.parameters && a.workers == b.workers && a.machine == b.machine &&
         is_same("model") && is_same("data") && is_same("batch") && is_same("threads");
}

}  // namespace

double predicted_seconds(const Phases& measured, const Traffic& traffic, double bits_per_second) {
  const double bits = 8 * static_cast<double>(std::max(traffic.bytes_sent, traffic.bytes_received));
  return measured.compute_seconds + measured.encode_seconds + measured.decode_seconds +
         bits / bits_per_second;
}

double predicted_step_seconds(const RunRecord& run, double bits_per_second) {
  return predicted_seconds(run.phases, run.traffic, bits_per_second) /
         static_cast<double>(run.steps);
}

std::vector<double> compute_seconds_per_step(std::span<const RunRecord* const> runs) {
  constexpr double kMoreWork = 1.5;
  std::vector<double> seconds;
  for (const RunRecord* run : runs) {
    std::vector<double> of_task;
    for (const RunRecord* other : runs) {
      if (is_same_task(*run, *other)) of_task.push_back(measured_compute_seconds(*other));
    }
    const auto middle = of_task.begin() + static_cast<std::ptrdiff_t>((of_task.size() - 1) / 2);
    std::ranges::nth_element(of_task, middle);
    const double own = measured_compute_seconds(*run);
    seconds.push_back(own > kMoreWork * *middle ? own : *middle);
  }
  return seconds;
}

double predicted_step_seconds(const RunRecord& run, double bits_per_second,
                              double compute_seconds) {
  Phases phases = run.phases;
  phases.compute_seconds = compute_seconds * static_cast<double>(run.steps);
  return predicted_seconds(phases, run.traffic, bits_per_second) / static_cast<double>(run.steps);
}

double ring_bytes(std::uint64_t parameters, std::size_t workers) {
  const auto ranks = static_cast<double>(workers);
  return 2 * sizeof(float) * static_cast<double>(parameters) * (ranks - 1) / ranks;
}

double compression_ratio(const RunRecord& run) {
  if (run.traffic.bytes_sent == 0) return 1;
  return ring_bytes(run.parameters, run.workers) * static_cast<double>(run.steps) /
         static_cast<double>(run.traffic.bytes_sent);
}

}  // namespace gradwire::record
