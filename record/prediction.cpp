#include "record/prediction.h"

#include <algorithm>

namespace gradwire::record {

double predicted_seconds(const Seconds& measured, std::uint64_t bytes_up, std::uint64_t bytes_down,
                         double bits_per_second) {
  const double bits = 8 * static_cast<double>(std::max(bytes_up, bytes_down));
  return measured.compute + measured.encode + measured.decode + bits / bits_per_second;
}

double predicted_step_seconds(const RunRecord& run, double bits_per_second) {
  return predicted_seconds(run.seconds, run.bytes_up_per_worker, run.bytes_down_per_worker,
                           bits_per_second) /
         static_cast<double>(run.steps);
}

double ring_bytes(std::uint64_t parameters, std::size_t workers) {
  const auto ranks = static_cast<double>(workers);
  return 2 * sizeof(float) * static_cast<double>(parameters) * (ranks - 1) / ranks;
}

double compression_ratio(const RunRecord& run) {
  if (run.bytes_up_per_worker == 0) return 1;
  return ring_bytes(run.parameters, run.workers) * static_cast<double>(run.steps) /
         static_cast<double>(run.bytes_up_per_worker);
}

}  // namespace gradwire::record
