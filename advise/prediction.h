// From what methods take on this machine to what they would take elsewhere. Pure functions.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "advise/method_speed.h"
#include "gradwire/plan/cost_model.h"

namespace gradwire::advise {

struct Scenario {
  std::vector<MethodTensor> tensors;
  std::size_t workers = 1;
  double bits_per_second = 0;
  double latency_seconds = 0;
  std::optional<double> compute_seconds;  // of a step; nothing: not known
  double cores_per_worker = 2;
  double socket_byte_seconds = 0;
  double checksum_byte_seconds = 0;

  std::size_t elements() const;
  // In how many groups the trainer sends gradients while others are computed.
  std::size_t groups() const;
};

// A method on one topology.
struct Prediction {
  Topology topology = Topology::scatter;
  double exchange_seconds = 0;              // of all tensors; within a step, group by group
  std::optional<double> step_seconds = {};  // with what hides behind the backward pass
  double bytes_sent = 0;                    // by the worker that sends most
  double relative_error = 0;  // of one worker's gradient, after all roundings on its way

  // What methods are compared by.
  double seconds() const { return step_seconds.value_or(exchange_seconds); }
};

struct MethodPredictions {
  std::vector<Prediction> topologies;  // those that the method runs on
  std::size_t best = 0;                // index of the fastest one that is about as exact as any
};

// `none` is what exact means take: those of factors, for one.
MethodPredictions predict(const MethodSpeed& method, const MethodSpeed& none,
                          const Scenario& scenario);

}  // namespace gradwire::advise
