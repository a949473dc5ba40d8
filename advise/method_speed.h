// Measures a method on this machine. A run with one rank computes all that a worker computes; the
// work that more ranks add follows from the speed of its codec.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "advise/at_once.h"
#include "advise/codec_speed.h"
#include "gradwire/codec/guarantee.h"
#include "gradwire/collective/exchange.h"
#include "gradwire/method/method.h"
#include "gradwire/plan/cost_model.h"

namespace gradwire::advise {

// The speed of a method on one topology.
struct TopologySpeed {
  Topology topology = Topology::scatter;
  plan::CodecSeconds seconds = {};
  double up_bytes = 0;  // of payload for each element
  double down_bytes = 0;
};

struct MethodSpeed {
  std::string method;                     // as it was given
  std::string spec;                       // the canonical text
  std::optional<CodecSpeed> codec;        // of the uplink; empty if tensors have different codecs
  std::vector<TopologySpeed> topologies;  // those that it runs on, in the order of the table
  bool has_memory = false;
  bool owns_moments = false;  // it is an optimiser with second moments itself
  bool needs_whole_gradient = false;
  std::uint64_t every = 1;     // steps between two exchanges
  bool keeps_uploads = false;  // a worker may skip an upload, and its last message counts again
  bool mean_waits = false;     // see plan::PlannedExchange

  // Relative errors of one message: of the uplink, memory included, and of the downlink's codec.
  double up_error = 0;
  double down_error = 0;
  bool is_unbiased = false;  // errors of several workers are independent, and average out
  bool is_summed = false;    // on topologies that pass sums, no hop rounds

  // Methods with factors: the left factors are averaged, and then the right ones, both exactly. The
  // computations before, between and after do not overlap with the exchanges.
  std::optional<std::size_t> factor_rank;
  double factor_seconds = 0;  // for each element of the gradient

  double noise = 0;  // of the measured times: the relative error of their median, the largest one
};

struct SpeedOptions {
  HostLoad load;
  std::size_t rounds = 5;  // at least; more until times are stable (at_once.h)
};

// Throws SpecError, and Error for a method that cannot work on these values.
MethodSpeed measure_method(const std::string& method, const std::vector<MethodTensor>& tensors,
                           std::span<const float> values, const SpeedOptions& options);

}  // namespace gradwire::advise
