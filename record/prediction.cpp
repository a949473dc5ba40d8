#include "record/prediction.h"

#include <algorithm>

namespace gradwire::record {

double predicted_seconds(const Phases& measured, const Traffic& traffic, double bits_per_second) {
  const double bits = 8 * static_cast<double>(std::max(traffic.bytes_sent, traffic.bytes_received));
  return measured.compute_seconds + measured.encode_seconds + measured.decode_seconds +
         bits / bits_per_second;
}

double predicted_step_seconds(const RunRecord& run, double bits_per_second) {
  return predicted_seconds(run.phases, run.traffic, bits_per_second) /
         static_cast<double>(run.steps);
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
