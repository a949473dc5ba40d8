// Predicts the time of a run's steps on another network, from its record. Pure functions.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "record/run_record.h"

namespace gradwire::record {

struct Bandwidth {
  const char* name;
  double bits_per_second;
};

// The links that tables and pages predict for.
inline constexpr std::array<Bandwidth, 3> kBandwidths = {
    {{"100 Mbit/s", 1e8}, {"1 Gbit/s", 1e9}, {"10 Gbit/s", 1e10}}};

// Seconds of a step, or of many: the measured times of computing, encoding and decoding, plus the
// bytes of the busier direction divided by the link's rate. Assumes no overlap, a full-duplex link
// and no latency.
double predicted_seconds(const Phases& measured, const Traffic& traffic, double bits_per_second);

// Predicted seconds of a step, the mean over the steps of the run.
double predicted_step_seconds(const RunRecord& run, double bits_per_second);

// Seconds that a step of each run computes, as predictions take it. What was measured differs by
// chance between runs of the same task, so these get their median. A run that took half as long
// again, such as one whose method needs a second gradient, keeps its own.
std::vector<double> compute_seconds_per_step(std::span<const RunRecord* const> runs);

// The same as above with these seconds in place of the measured ones.
double predicted_step_seconds(const RunRecord& run, double bits_per_second, double compute_seconds);

// The bytes that a worker sends in one ring all-reduce of 32-bit floats.
double ring_bytes(std::uint64_t parameters, std::size_t workers);

// Bytes of such a ring divided by the bytes that a worker sent. 1 for a single worker, which sends
// nothing.
double compression_ratio(const RunRecord& run);

}  // namespace gradwire::record
