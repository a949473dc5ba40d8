// How long a step of each method takes, how many bytes it sends and how exact it is, beside the
// transport's own sum of floats, and beside scaling the same array in place, which is what memory
// takes to read and write it once. Runs on all ranks at once; rank 0's clock counts.
//
// Every round runs the transport's sum, the scaling, and then one step of each method; before each,
// all ranks wait for one another. The median over the rounds is the figure, and so is the median of
// the ratio to the sum of the same round, which other load on the machine disturbs least. A round
// before the first warms everything up.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

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
  double ratio = 0;              // to the sum's time: less than 1 is faster
  std::uint64_t bytes_sent = 0;  // of the rank that sends most
  double relative_error = 0;     // |mean - true mean| / |true mean|, euclidean, in the first step
  double encode_ms = 0;          // these are rank 0's
  double exchange_ms = 0;
  double decode_ms = 0;
};

struct AllreduceFigures {
  double sum_ms = 0;  // of the transport itself
  double sum_ms_min = 0;
  double scale_ms = 0;  // of the array, in place, by all ranks at once
  double scale_ms_min = 0;
  std::vector<MethodFigures> methods;
};

// How often measure_allreduce steps its progress.
std::size_t allreduce_steps(std::size_t methods, std::size_t rounds);

// `values` are this rank's; the tensors lie in it one after the other. Ranks that have no progress
// to show give null. Throws PeerError, and Error if a method leaves ranks with different means.
AllreduceFigures measure_allreduce(Communicator& communicator, std::span<const float> values,
                                   const std::vector<MethodTensor>& tensors,
                                   const std::vector<std::string>& methods,
                                   const AllreduceOptions& options, console::Progress* progress);

}  // namespace gradwire::bench
