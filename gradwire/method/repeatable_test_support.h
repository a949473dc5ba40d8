// For tests of methods whose steps can be given up and replayed.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "gradwire/collective/method_exchange.h"
#include "gradwire/core/check.h"
#include "gradwire/core/error.h"

namespace gradwire {

struct GivenUp : Error {
  GivenUp() : Error("given up") {}
};

// Keeps what it is told, and lets the step pass or not.
class TestGate final : public CommitGate {
 public:
  explicit TestGate(std::size_t ranks) : results(ranks) {}

  void on_result(std::size_t rank, std::span<const std::span<const std::byte>> frames) override {
    results[rank].clear();
    for (const auto& frame : frames) {
      results[rank].insert(results[rank].end(), frame.begin(), frame.end());
    }
    ++told;
  }
  void await_commit() override {
    GW_CHECK(told == results.size());
    told = 0;
    if (gives_up) throw GivenUp();
  }

  std::vector<std::vector<std::byte>> results;
  std::size_t told = 0;
  bool gives_up = false;
};

}  // namespace gradwire
