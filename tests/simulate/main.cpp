// simulate [--seeds N] [--first S] [--trace] [--until-failure]
// Simulates the seeds S to S + N - 1. The last line counts them. A failing seed prints the
// violation and the command that replays it. Exit 1 if one has failed.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "tests/simulate/simulation.h"

int main(int argc, char** argv) {
  std::uint64_t seeds = 1;
  std::uint64_t first = 1;
  bool traces = false;
  bool until_failure = false;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--trace") == 0) {
      traces = true;
    } else if (std::strcmp(argv[i], "--until-failure") == 0) {
      until_failure = true;
    } else if (i + 1 < argc && std::strcmp(argv[i], "--seeds") == 0) {
      seeds = std::strtoull(argv[++i], nullptr, 10);
    } else if (i + 1 < argc && std::strcmp(argv[i], "--first") == 0) {
      first = std::strtoull(argv[++i], nullptr, 10);
    } else {
      std::fprintf(stderr, "usage: simulate [--seeds N] [--first S] [--trace] [--until-failure]\n");
      return 2;
    }
  }
  gradwire::simulate::TraceLine trace;
  if (traces) trace = [](const std::string& line) { std::printf("%s\n", line.c_str()); };

  std::uint64_t failed = 0, must_go_on = 0, go_on = 0, steps = 0, views = 0, faults = 0, events = 0;
  for (std::uint64_t seed = first; seed < first + seeds; ++seed) {
    const auto outcome = gradwire::simulate::simulate(seed, trace);
    must_go_on += outcome.must_go_on;
    go_on += outcome.goes_on;
    steps += outcome.steps;
    views += outcome.views;
    faults += outcome.faults;
    events += outcome.events;
    if (!outcome.violation) continue;
    ++failed;
    std::printf("seed %llu: %s\n  replay: %s --first %llu --seeds 1 --trace\n",
                static_cast<unsigned long long>(seed), outcome.violation->c_str(), argv[0],
                static_cast<unsigned long long>(seed));
    std::fflush(stdout);
    if (until_failure) seeds = seed - first + 1;
  }
  const auto per_seed = [&](std::uint64_t count) {
    return static_cast<double>(count) / static_cast<double>(seeds > 0 ? seeds : 1);
  };
  std::printf(
      "per seed: %.1f faults, %.1f views, %.1f steps, %.0f events; %.1f%% went on, %.1f%% had to\n",
      per_seed(faults), per_seed(views), per_seed(steps), per_seed(events), 100 * per_seed(go_on),
      100 * per_seed(must_go_on));
  std::printf("%llu passed, %llu failed\n", static_cast<unsigned long long>(seeds - failed),
              static_cast<unsigned long long>(failed));
  return failed > 0 ? 1 : 0;
}
