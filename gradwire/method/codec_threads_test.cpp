// The number of codec threads changes no bit of a method: not of its model, not of its state.
#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <string>
#include <vector>

#include "gradwire/method/state.h"
#include "gradwire/method/workload_test_support.h"
#include "gradwire/wire/frame.h"

namespace gradwire {
namespace {

constexpr std::size_t kRanks = 2;

// Large enough that several threads share the pieces of a segment.
std::vector<MethodTensor> large_tensors() { return {{"w", {350, 400}}, {"b", {350}}}; }

// By rank: the state after some steps, and the model's checksum.
struct Outcome {
  std::vector<std::uint64_t> models = std::vector<std::uint64_t>(kRanks);
  std::vector<MethodState> states = std::vector<MethodState>(kRanks);
};

// Nothing where the topology does not take the method.
std::optional<Outcome> train_with(std::size_t threads, const std::string& spec,
                                  const MethodOptions& options) {
  Outcome outcome;
  std::atomic<bool> is_refused = false;
  run_communicators(kRanks, {.run = 7, .codec_threads = threads}, [&](Communicator& communicator) {
    try {
      TestWorker worker(communicator, spec, options, large_tensors());
      for (std::uint64_t step = 0; step < 4; ++step) worker.step(step);
      const std::size_t rank = communicator.rank();
      outcome.states[rank] = worker.method().save();
      for (const auto& tensor : worker.model()) {
        outcome.models[rank] =
            outcome.models[rank] * 31 + checksum(std::as_bytes(std::span(tensor)));
      }
    } catch (const StartError&) {
      throw;
    } catch (const PeerError&) {
      throw;
    } catch (const Error&) {
      is_refused = true;
    }
  });
  if (is_refused) return std::nullopt;
  return outcome;
}

TEST(MethodCodecThreads, ThreadsDoNotChangeModelsAndMemories) {
  for (const std::string& spec : test_specs()) {
    for (const Topology topology : {Topology::scatter, Topology::gather, Topology::ring}) {
      SCOPED_TRACE(spec + " on " + name(topology));
      const MethodOptions options{.topology = topology, .seed = 3};
      const auto alone = train_with(1, spec, options);
      const auto shared = train_with(3, spec, options);
      ASSERT_EQ(alone.has_value(), shared.has_value());
      if (!alone) continue;
      EXPECT_EQ(alone->models, shared->models);
      EXPECT_TRUE(alone->states == shared->states);
    }
  }
}

}  // namespace
}  // namespace gradwire
