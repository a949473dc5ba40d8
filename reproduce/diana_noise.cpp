#include <fmt/format.h>

#include <array>
#include <cmath>

#include "console/format.h"
#include "reproduce/diana_parts.h"
#include "reproduce/libsvm_twin.h"
#include "reproduce/run_curves.h"
#include "reproduce/run_means.h"

namespace gradwire::reproduce {
namespace {

constexpr std::uint64_t kSeeds = 8;

// f - f*, the mean of the looks in the second half of a run: what noise keeps a run away by.
double floor_of(const session::FinishedRun& run) {
  const Curve curve = curve_of(run, "", &record::Metrics::gap, Along::steps);
  double sum = 0;
  const std::size_t from = curve.y.size() / 2;
  for (std::size_t i = from; i < curve.y.size(); ++i) sum += curve.y[i];
  return sum / static_cast<double>(curve.y.size() - from);
}

session::TrainOptions batch_options(Workbench& bench, const LibsvmFile& file) {
  session::TrainOptions options;
  options.model = "logistic";
  options.data = file.path;
  options.workers.workers = 4;
  options.batch = 16;
  options.convex.l2 = "L/20";
  options.steps = bench.is_quick() ? 2000 : 8000;
  return options;
}

// A worker's batches differ from its rows, so that with steps of one length a run ends at a
// distance; with 2/(mu t + theta) it does not.
void add_shorter_steps(Workbench& bench, const LibsvmFile& file, Claim& claim) {
  session::TrainOptions options = batch_options(bench, file);
  options.split = "label";
  std::array<std::vector<double>, 2> gaps;
  for (std::uint64_t seed = 1; seed <= kSeeds / 2; ++seed) {
    options.seed = seed;
    for (std::size_t i = 0; i < gaps.size(); ++i) {
      options.convex.step = i == 0 ? "auto" : "auto/(1+t/100)";
      const session::FinishedRun run = bench.train(
          fmt::format("batches-{}-{}-seed{}", file.name, i == 0 ? "equal" : "shorter", seed),
          options, "diana(natural)");
      gaps[i].push_back(run.record.final.gap.value_or(std::nan("")));
    }
  }
  const Spread equal = spread_of(gaps[0]);
  const Spread shorter = spread_of(gaps[1]);
  claim.rows.push_back(
      {.what = fmt::format("{}, batches of 16: DIANA, f - f* in the end", file.name),
       .published =
           "a distance proportional to the step; with steps of 2/(mu t + theta) none, at a "
           "rate of 1/t",
       .measured = fmt::format(
           "{} +- {} with equal steps, {} +- {} with shorter ones",
           console::significant(equal.mean, 2), console::significant(equal.error, 1),
           console::significant(shorter.mean, 2), console::significant(shorter.error, 1)),
       .holds = shorter.mean + shorter.error < (equal.mean - equal.error) / 3});
}

struct Way {
  const char* name;
  const char* method;
  double bound;  // of the noise, relative to that of none: (1 + omega_M)(1 + omega_W)
};

// Rows are dealt at random, so that workers hardly differ and the noise of the batches is all there
// is: the second term of the published bound is next to zero.
void add_ways(Workbench& bench, const LibsvmFile& file, Claim& claim) {
  constexpr double kOmega = 1.0 / 8;
  constexpr std::array<Way, 3> kWays = {
      {{"none", "none", 1},
       {"on workers only", "direct(natural, down=none)", 1 + kOmega},
       {"both ways", "natural", (1 + kOmega) * (1 + kOmega)}}};
  session::TrainOptions options = batch_options(bench, file);
  options.workers.topology_name = name(Topology::scatter);
  options.convex.step = "0.3/L";
  std::array<std::vector<double>, kWays.size()> floors;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    options.seed = seed;
    for (std::size_t i = 0; i < kWays.size(); ++i) {
      floors[i].push_back(floor_of(bench.train(fmt::format("ways-{}-{}-seed{}", file.name, i, seed),
                                               options, kWays[i].method)));
    }
  }
  for (std::size_t i = 1; i < kWays.size(); ++i) {
    std::vector<double> ratios;
    for (std::size_t seed = 0; seed < floors[i].size(); ++seed) {
      ratios.push_back(floors[i][seed] / floors[0][seed]);
    }
    const Spread ratio = spread_of(ratios);
    claim.rows.push_back(
        {.what = fmt::format("{}, SGD with natural {}: distance to the optimum relative to none",
                             file.name, kWays[i].name),
         .published =
             fmt::format("the bound grows to at most {} times", console::fixed(kWays[i].bound, 3)),
         .measured = fmt::format("{} +- {} times", console::fixed(ratio.mean, 3),
                                 console::fixed(ratio.error, 3)),
         .holds = ratio.mean + ratio.error <= kWays[i].bound});
  }
}

}  // namespace

void add_noise(Workbench& bench, Claim& claim) {
  const LibsvmFile file = find_libsvm(bench, kA5a);
  add_shorter_steps(bench, file, claim);
  add_ways(bench, file, claim);
}

}  // namespace gradwire::reproduce
