// What a run's steps would take on another network, from what it recorded. Pure functions.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "record/run_record.h"

namespace gradwire::record {

struct Bandwidth {
  const char* name;
  double bits_per_second;
};

// The links that tables and pages predict for.
inline constexpr std::array<Bandwidth, 3> kBandwidths = {
    {{"100 Mbit/s", 1e8}, {"1 Gbit/s", 1e9}, {"10 Gbit/s", 1e10}}};

// Seconds of a step, or of many: computing, encoding and decoding as they were measured, and then
// the bytes of the busier direction at the link's rate. Nothing overlaps and nothing is late: a
// link is full duplex, and has no latency.
double predicted_seconds(const Phases& measured, const Traffic& traffic, double bits_per_second);

// Seconds of a run's step at the link's rate, the mean over its steps.
double predicted_step_seconds(const RunRecord& run, double bits_per_second);

// What one worker sends for a step in a ring allreduce of 32-bit floats.
double ring_bytes(std::uint64_t parameters, std::size_t workers);

// How many times fewer bytes a worker sent than in such a ring. A worker that is alone sends
// nothing: 1.
double compression_ratio(const RunRecord& run);

}  // namespace gradwire::record
