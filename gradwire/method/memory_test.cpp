#include "gradwire/method/memory.h"

#include <gtest/gtest.h>
#include <malloc.h>

#include "gradwire/core/allocation_test_support.h"
#include "gradwire/method/workload_test_support.h"

namespace gradwire {
namespace {

constexpr std::size_t kRows = 512, kColumns = 1024;
constexpr double kVectorBytes = kRows * kColumns * sizeof(float);

std::vector<MethodTensor> one_matrix() { return {{"w", {kRows, kColumns}}}; }

// Bytes that are allocated in this process.
double heap_bytes() {
  const auto info = mallinfo2();
  return static_cast<double>(info.uordblks + info.hblkhd);
}

// What a step takes beside the memories: factors, and last uploads as this rank keeps them.
double extra_vectors(const MethodExample& example, std::size_t ranks) {
  if (example.more == "factors") return 0.1;
  if (example.more == "1 upload") return 1;
  if (example.more == "sparse uploads") return 0.1 * static_cast<double>(ranks);
  return 0;
}

TEST(MethodMemoryThreads, MethodsHoldWhatTheListingSays) {
  constexpr std::size_t kRanks = 2;
  for (const MethodExample& example : example_methods()) {
    SCOPED_TRACE(example.spec);
    // Owners show on scatter. lgc has none, and is tested in its own room.
    if (example.topologies.find(name(Topology::scatter)) == std::string::npos) continue;
    run_communicators(kRanks, [&](Communicator& communicator) {
      TestWorker worker(communicator, example.spec, {.topology = Topology::scatter}, one_matrix());
      for (std::uint64_t step = 0; step < 3; ++step) worker.step(step);
      const double held = static_cast<double>(worker.method().memory_bytes()) / kVectorBytes;
      const double least = example.vectors + example.owner_vectors / kRanks;
      EXPECT_GE(held, least);
      EXPECT_LE(held, least + extra_vectors(example, kRanks) + 0.01);
    });
  }
}

// The same by what the machine has handed out: a method against the same codec without a memory.
TEST(MethodMemoryThreads, WhatIsHeldIsAllThatIsAllocated) {
  if (GW_ALLOCATOR_IS_TAKEN) GTEST_SKIP() << "a sanitizer's allocator does not say what it gave";
  struct Case {
    const char* spec;
    const char* bare;
    double vectors;
  };
  for (const auto& [spec, bare, vectors] :
       {Case{"ef(qsgd(bits=4))", "qsgd(bits=4)", 1}, Case{"diana(qsgd(bits=4))", "qsgd(bits=4)", 2},
        Case{"ef21(qsgd(bits=4))", "qsgd(bits=4)", 2}, Case{"dgc(1%)", "topk(1%)", 2}}) {
    constexpr std::size_t kRanks = 2;
    double held = 0;
    run_communicators(kRanks, [&](Communicator& communicator) {
      const auto measure = [&](const char* name) {
        communicator.barrier();
        const double before = heap_bytes();
        communicator.barrier();
        const auto method = make_method(communicator, one_matrix(), name, {});
        std::vector<float> gradient(kRows * kColumns, 0.5F);
        const std::vector<std::span<float>> spans = {gradient};
        for (std::uint64_t step = 0; step < 2; ++step) method->run({.step = step}, spans);
        communicator.barrier();
        const double after = heap_bytes();
        communicator.barrier();
        return after - before;
      };
      const double with = measure(spec);
      const double without = measure(bare);
      if (communicator.rank() == 0) held = (with - without) / kRanks / kVectorBytes;
    });
    EXPECT_GT(held, vectors - 0.1) << spec;
    EXPECT_LT(held, vectors + 0.25) << spec;  // frames that wait for the port
  }
}

TEST(MethodMemory, RangesOfOwnersAreCutAnew) {
  const std::vector<MethodTensor> tensors = {{"a", {100}}, {"b", {50}}};
  MethodState state;
  for (const auto& [first, count] : {std::pair{0u, 40u}, std::pair{40u, 60u}}) {
    Memory part("error", Sharing::owner, tensors,
                std::vector<TensorPiece>{{.tensor = 0, .first = first, .elements = count}});
    const auto values = part.at({.tensor = 0, .first = first, .elements = count});
    for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<float>(first + i);
    part.save(state);
  }
  Memory middle("error", Sharing::owner, tensors,
                std::vector<TensorPiece>{{.tensor = 0, .first = 30, .elements = 30}});
  middle.load(state);
  EXPECT_EQ(middle.whole(0)[0], 30);
  EXPECT_EQ(middle.whole(0)[29], 59);
  Memory other("error", Sharing::owner, tensors,
               std::vector<TensorPiece>{{.tensor = 1, .first = 0, .elements = 50}});
  EXPECT_THROW(other.check(state), Error);
}

}  // namespace
}  // namespace gradwire
