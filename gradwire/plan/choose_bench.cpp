// How long choose() takes for 1,000 and 10,000 layers with 16 options each: errors and bytes as
// networks have them, and random numbers. A copy of the options' memory is the yardstick.
//   choose_bench [ROUNDS]
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "gradwire/plan/problems_test_support.h"

namespace gradwire::plan {
namespace {

constexpr std::size_t kOptions = 16;

// Of the processor, so that what else the machine does counts less.
template <class Work>
double milliseconds(const Work& work) {
  const std::clock_t start = std::clock();
  work();
  return 1e3 * static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

struct Kind {
  const char* name;
  Layers (*make)(std::size_t layers, std::size_t options, Numbers& numbers);
};

// Each round has numbers of its own.
void run(const Kind& kind, std::size_t count, std::size_t rounds) {
  std::vector<double> times, copies;
  std::size_t exact = 0;
  for (std::size_t round = 0; round < rounds; ++round) {
    Numbers numbers(round);
    const Layers layers = kind.make(count, kOptions, numbers);
    const Choice reference = total_of(layers, uniform(layers, 6));
    times.push_back(milliseconds(
        [&] { exact += choose(layers, reference.weight, reference.options).is_exact; }));
    std::vector<Option> copy(kOptions * count);
    copies.push_back(milliseconds([&] {
      for (std::size_t i = 0; i < count; ++i) {
        std::memcpy(&copy[kOptions * i], layers[i].data(), kOptions * sizeof(Option));
      }
    }));
  }
  std::ranges::sort(times);
  std::ranges::sort(copies);
  std::printf(
      "%-8s %6zu layers: %7.1f ms (median of %zu; at most %.1f), %zu exact; memcpy %.3f ms\n",
      kind.name, count, times[rounds / 2], rounds, times.back(), exact, copies[rounds / 2]);
}

}  // namespace
}  // namespace gradwire::plan

int main(int argc, char** argv) {
  using namespace gradwire::plan;
  const std::size_t rounds = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 11;
  const Kind kinds[] = {{"network", network_layers},
                        {"similar", similar_layers},
                        {"random", random_layers},
                        {"hard", hard_layers}};
  std::printf("choose(), %zu options a layer, one thread\n", kOptions);
  for (const Kind& kind : kinds) {
    for (const std::size_t count : {1'000, 10'000}) run(kind, count, std::max(rounds, 1UL));
  }
}
