// For tests: steps of methods on hosts with several ranks, whose results must be the same bits on
// every transport. Used by the program `ranks`, where ranks are processes, and by the test that
// compares it with ranks that are threads.
#pragma once

#include <cinttypes>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "gradwire/collective/progress.h"
#include "gradwire/method/workload_test_support.h"
#include "gradwire/wire/frame.h"

namespace gradwire {

inline std::vector<MethodTensor> levels_tensors() {
  return {{"w1", {64, 100}}, {"b1", {64}}, {"w2", {4, 2000}}, {"b2", {7}}};
}

inline CommunicatorOptions levels_options() {
  return {.run = 7, .peer_timeout = std::chrono::milliseconds(10000), .hosts = {.count = 2}};
}

// A line for each method: "ef(topk(10%)) 0123456789abcdef". Throws StartError if another rank has
// another model.
inline void run_levels(Communicator& communicator,
                       const std::function<void(const std::string& line)>& take) {
  for (const std::string& spec : test_specs()) {
    TestWorker worker(communicator, spec, {.seed = 3, .group_elements = 6000}, levels_tensors());
    for (std::uint64_t step = 0; step < 4; ++step) worker.step(step);
    std::uint64_t digest = 0;
    for (const auto& tensor : worker.model()) {
      digest = checksum(std::as_bytes(std::span(tensor)), digest);
    }
    char text[17];
    std::snprintf(text, sizeof text, "%016" PRIx64, digest);
    communicator.impl().call([&](PeerLinks& links) {
      links.agreement.compare({{"digest of " + spec, text}});
    });
    take(spec + ' ' + text);
  }
}

}  // namespace gradwire
