// Predicts the time, the bytes and the error of methods on a given network, from speeds measured on
// this machine. Pure functions.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "advise/method_speed.h"
#include "gradwire/plan/cost_model.h"

namespace gradwire::advise {

// The model, the workers and the network that predictions are for.
struct Scenario {
  std::vector<MethodTensor> tensors;
  std::size_t workers = 1;
  double bits_per_second = 0;                     // of the slowest link
  std::vector<double> link_bits_per_second = {};  // of each worker; empty: all are the same
  double switch_bits_per_second = 0;              // of all links together; 0: it keeps up
  double latency_seconds = 0;
  std::optional<double> compute_seconds;  // of a step; nothing: not known
  double cores_per_worker = 2;
  double socket_byte_seconds = 0;
  double checksum_byte_seconds = 0;
  // With several, `workers` are hosts: the ranks of a host first add up in shared memory.
  std::size_t ranks_per_host = 1;
  double sum_byte_seconds = 0;

  std::size_t elements() const;
  // The number of groups in which the trainer sends gradients during the backward pass.
  std::size_t groups() const;
};

// A method on one topology.
struct Prediction {
  Topology topology = Topology::scatter;
  double exchange_seconds = 0;  // of all tensors; within a step, group by group; the mean over the
                                // steps where some have none
  std::optional<double> step_seconds = {};  // overlap with the backward pass included
  double bytes_sent = 0;                    // by a worker
  double server_bytes_sent = 0;             // by the server, on topologies with one
  double relative_error = 0;  // of one worker's gradient, after all roundings on its way

  // Methods are compared by this.
  double seconds() const { return step_seconds.value_or(exchange_seconds); }
};

struct MethodPredictions {
  std::vector<Prediction> topologies;  // those that the method runs on
  std::size_t best = 0;                // the fastest of those that are about as exact as any
};

// Predictions that differ by less are about equally fast: clocks are not exact.
inline constexpr double kAsFast = 1.05;

// `none` is the speed of exact means, such as those of powersgd's factors.
MethodPredictions predict(const MethodSpeed& method, const MethodSpeed& none,
                          const Scenario& scenario);

}  // namespace gradwire::advise
