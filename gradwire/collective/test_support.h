// For tests: communicators whose ranks are threads, tensors, and the exchange of one of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "gradwire/codec/codec.h"
#include "gradwire/collective/communicator.h"
#include "gradwire/collective/exchange.h"
#include "gradwire/core/random.h"
#include "gradwire/transport/test_support.h"

namespace gradwire {

// Makes the transport of one rank of this process.
using MakeTransport = std::function<std::unique_ptr<Transport>(std::size_t rank)>;

// Calls f(communicator) on each of `size` ranks of one process.
template <class F>
void run_communicators(std::size_t size, const MakeTransport& make_transport,
                       const CommunicatorOptions& options, F f) {
  run_ranks(size, [&](std::size_t rank) {
    Communicator communicator(make_transport(rank), options);
    f(communicator);
    communicator.close();
  });
}

template <class F>
void run_communicators(std::size_t size, const CommunicatorOptions& options, F f) {
  InProcessWorld world(size);
  run_communicators(
      size, [&](std::size_t rank) { return world.join(rank); }, options, f);
}

template <class F>
void run_communicators(std::size_t size, F f) {
  run_communicators(size, {.run = 7, .peer_timeout = std::chrono::milliseconds(10000)}, f);
}

// Values of very different sizes, other ones on every rank and in every tensor.
inline std::vector<float> rank_values(std::size_t rank, std::size_t tensor, std::size_t elements) {
  const RandomStream random = Rng{.seed = 11,
                                  .tensor = tensor,
                                  .rank = static_cast<std::uint32_t>(rank),
                                  .purpose = Purpose::data}
                                  .stream(0, 0);
  std::vector<float> values(elements);
  for (std::size_t i = 0; i < elements; ++i) {
    const std::uint32_t bits = random.at(static_cast<std::uint32_t>(i));
    const float even = static_cast<float>(bits >> 8) * 0x1p-24F - 0.5F;
    values[i] = even * even * even * static_cast<float>(1 + bits % 7);
  }
  return values;
}

// One rank's tensors, and where their means go.
struct RankTensors {
  RankTensors(std::size_t rank, std::span<const TensorSize> shapes) {
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      values.push_back(rank_values(rank, i, shapes[i].elements));
      means.emplace_back(shapes[i].elements);
    }
    value_spans.assign(values.begin(), values.end());
    mean_spans.assign(means.begin(), means.end());
  }

  ExchangeCall call(std::uint64_t step = 0) const {
    return {.step = step, .values = value_spans, .means = mean_spans};
  }

  std::vector<std::vector<float>> values;
  std::vector<std::vector<float>> means;
  std::vector<std::span<const float>> value_spans;
  std::vector<std::span<float>> mean_spans;
};

}  // namespace gradwire
