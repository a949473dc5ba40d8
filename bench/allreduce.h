// Measures one step of each method: its time, the bytes it sends and its error. Yardsticks are
// measured beside it: the transport's own sum of floats, that of Gloo if it is given, and scaling
// the array in place, which reads and writes memory once. Runs on all ranks at once; rank 0's clock
// counts.
//
// Each round runs the sums, the scaling, and then one step of each method. All ranks meet at a
// barrier before each of these. A figure is the median over the rounds. The ratio is the median of
// each round's ratio to its own baseline, Gloo's sum if it is given and otherwise the transport's,
// since load on the machine disturbs both alike. One round warms up before the first that counts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bench/gloo_allreduce.h"
#include "console/progress.h"
#include "gradwire/collective/exchange.h"
#include "gradwire/method/method.h"

namespace gradwire::bench {

struct AllreduceOptions {
  Topology topology = Topology::automatic;
  std::size_t server = 0;
  bool server_contributes = true;
  std::size_t segment_elements_max = ExchangeOptions{}.segment_elements_max;
  std::size_t rounds = 7;
  std::uint64_t seed = 1;
};

struct MethodFigures {
  Topology topology = Topology::automatic;  // the one chosen
  double ms = 0;
  double ms_min = 0;
  double ratio = 0;              // to the baseline's time: less than 1 is faster
  std::uint64_t bytes_sent = 0;  // of the rank that sends most
  double relative_error = 0;     // |mean - true mean| / |true mean|, euclidean, in the first step
  double encode_ms = 0;          // these are rank 0's
  double exchange_ms = 0;
  double decode_ms = 0;
};

struct AllreduceFigures {
  struct Time {
    double ms = 0;
    double ms_min = 0;
  };

  Time sum;                       // of the transport itself
  std::optional<Time> gloo = {};  // Gloo's sum, if it was given
  Time scale;                     // of the array, in place, by all ranks at once

  const Time& baseline() const { return gloo ? *gloo : sum; }
  std::vector<MethodFigures> methods;
};

// The number of steps that measure_allreduce reports to its progress.
std::size_t allreduce_steps(std::size_t methods, std::size_t rounds, bool has_gloo);

// `values` are this rank's: the tensors, one after the other. `gloo` and `progress` may be null.
// Throws PeerError, and Error if a method leaves ranks with different means.
AllreduceFigures measure_allreduce(Communicator& communicator, std::span<const float> values,
                                   const std::vector<MethodTensor>& tensors,
                                   const std::vector<std::string>& methods,
                                   const AllreduceOptions& options, GlooAllreduce* gloo,
                                   console::Progress* progress);

}  // namespace gradwire::bench
