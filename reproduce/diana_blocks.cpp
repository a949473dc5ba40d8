#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "console/format.h"
#include "reproduce/diana_parts.h"
#include "reproduce/libsvm_twin.h"
#include "reproduce/run_curves.h"

namespace gradwire::reproduce {
namespace {

constexpr std::size_t kWorkers = 4;
constexpr std::array<std::size_t, 6> kBlocks = {1, 4, 16, 32, 64, 122};
constexpr std::array<std::size_t, 2> kOtherWorkers = {2, 8};
static_assert(kBlockRuns == (2 + kOtherWorkers.size()) * kBlocks.size() + 1);
constexpr std::size_t kSquare = kWorkers * kWorkers;

// Steps until f - f* is at the target, on the line between two looks; infinite where it never is.
double steps_to(const session::FinishedRun& run, double target) {
  const Curve curve = curve_of(run, "", &record::Metrics::gap, Along::steps);
  for (std::size_t i = 1; i < curve.x.size(); ++i) {
    if (curve.y[i] > target) continue;
    const double before = std::log(curve.y[i - 1]);
    const double after = std::log(std::max(curve.y[i], 1e-300));
    const double way = (before - std::log(target)) / (before - after);
    return curve.x[i - 1] + way * (curve.x[i] - curve.x[i - 1]);
  }
  return std::numeric_limits<double>::infinity();
}

struct BlockRun {
  std::size_t block = 0;
  double omega = 0;
  double steps = 0;
  double bits = 0;  // for each coordinate, until the target
};

std::vector<BlockRun> run_blocks(Workbench& bench, const session::TrainOptions& options,
                                 const std::string& data, const std::string& norm, double target) {
  std::vector<BlockRun> runs;
  for (const std::size_t block : kBlocks) {
    const std::string codec = fmt::format("qsgd(bits=2, norm={}, bucket={})", norm, block);
    const session::FinishedRun run = bench.train(fmt::format("blocks-{}-{}-{}", data, norm, block),
                                                 options, "diana(" + codec + ")");
    const double root = std::sqrt(static_cast<double>(block));
    const double steps = steps_to(run, target);
    runs.push_back({.block = block,
                    .omega = norm == "l2" ? root - 1 : (root - 1) / 2,
                    .steps = steps,
                    .bits = steps * payload_bits(codec, run.record.parameters)});
  }
  return runs;
}

Curve curve_by_block(const std::string& label, const std::vector<BlockRun>& runs,
                     double BlockRun::*figure) {
  Curve curve{.label = label, .x = {}, .y = {}};
  for (const BlockRun& run : runs) {
    curve.x.push_back(static_cast<double>(run.block));
    curve.y.push_back(run.*figure);
  }
  return curve;
}

ClaimRow norms_row(const std::vector<BlockRun>& l2, const std::vector<BlockRun>& linf) {
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t i = 1; i < l2.size(); ++i) {  // a block of 1 has no noise by either
    least = std::min(least, l2[i].steps / linf[i].steps);
  }
  return {.what = "linf blocks against l2 blocks of the same size",
          .published = "half the omega: (sqrt(b) - 1) / 2, so fewer steps",
          .measured = fmt::format("l2 takes {} times the steps of linf at least, {} with one block",
                                  console::significant(least, 3),
                                  console::significant(l2.back().steps / linf.back().steps, 3)),
          .holds = least > 1};
}

ClaimRow square_row(const std::vector<BlockRun>& l2, double exact_steps) {
  const auto at = std::ranges::find(l2, kSquare, &BlockRun::block);
  const double factor = at->steps / exact_steps;
  const double bound = 1 + 2 * at->omega / static_cast<double>(kWorkers);
  return {.what = fmt::format("l2 blocks of n^2 = {} for n = {} workers: steps", kSquare, kWorkers),
          .published = fmt::format("as many as without compression up to a constant: 1 + 2 omega/n "
                                   "= {} times",
                                   console::significant(bound, 3)),
          .measured = fmt::format("{} times", console::significant(factor, 3)),
          .holds = factor <= 1.1 * bound};
}

// (2 + 32/b)(1 + 2 omega/n): bits of a step, and the steps that the theorem allows.
std::size_t best_by_theory(std::size_t workers) {
  return *std::ranges::min_element(kBlocks, {}, [workers](std::size_t block) {
    const double root = std::sqrt(static_cast<double>(block));
    return (2 + 32 / (root * root)) * (1 + 2 * (root - 1) / static_cast<double>(workers));
  });
}

ClaimRow best_row(const std::vector<BlockRun>& l2) {
  const BlockRun& best = *std::ranges::min_element(l2, {}, &BlockRun::bits);
  const BlockRun& square = *std::ranges::find(l2, kSquare, &BlockRun::block);
  const double ratio = square.bits / best.bits;
  return {
      .what = "the block size that needs fewest bits, l2",
      .published = fmt::format("about n^2 = {} (theory: {})", kSquare, best_by_theory(kWorkers)),
      .measured = fmt::format("{}; blocks of {} take {} times its bits", best.block, kSquare,
                              console::significant(ratio, 3)),
      .holds = ratio < 1.25};
}

struct BestBlock {
  std::size_t workers = 0;
  std::size_t block = 0;
};

// For 2, 4 and 8 workers.
ClaimRow growth_row(const std::vector<BestBlock>& best) {
  ClaimRow row{.what = "the l2 block size that needs fewest bits, by the number of workers",
               .published = "about n^2",
               .measured = "",
               .holds = true};
  for (std::size_t i = 0; i < best.size(); ++i) {
    row.measured += fmt::format("{}{} for n = {} (theory: {})", i == 0 ? "" : ", ", best[i].block,
                                best[i].workers, best_by_theory(best[i].workers));
    if (i > 0) row.holds = row.holds && best[i].block > best[i - 1].block;
  }
  if (!row.holds) {
    row.reason =
        "the norm of a block takes 32 bits, which small blocks pay for; steps and bits together "
        "have their minimum at the sizes in brackets, by theory";
  }
  return row;
}

}  // namespace

void add_blocks(Workbench& bench, Claim& claim) {
  const double target = bench.is_quick() ? 1e-4 : 1e-6;
  const LibsvmFile file = find_libsvm(bench, kA5a);
  session::TrainOptions options;
  options.model = "logistic";
  options.data = file.path;
  options.split = "label";
  options.workers.workers = kWorkers;
  options.convex.l2 = "L/20";
  options.steps = bench.is_quick() ? 1500 : 4000;
  const auto l2 = run_blocks(bench, options, file.name, "l2", target);
  const auto linf = run_blocks(bench, options, file.name, "linf", target);
  const double exact =
      steps_to(bench.train(fmt::format("blocks-{}-none", file.name), options, "none"), target);
  claim.rows.push_back(norms_row(l2, linf));
  claim.rows.push_back(square_row(l2, exact));
  claim.rows.push_back(best_row(l2));
  const auto best = [](std::size_t workers, const std::vector<BlockRun>& runs) {
    return BestBlock{workers, std::ranges::min_element(runs, {}, &BlockRun::bits)->block};
  };
  std::vector<BestBlock> all = {best(kWorkers, l2)};
  for (const std::size_t workers : kOtherWorkers) {
    options.workers.workers = workers;
    const std::string name = fmt::format("{}-{}workers", file.name, workers);
    all.push_back(best(workers, run_blocks(bench, options, name, "l2", target)));
  }
  std::ranges::sort(all, {}, &BestBlock::workers);
  claim.rows.push_back(growth_row(all));
  claim.pictures.push_back(
      {.name = "diana-blocks",
       .title = fmt::format("Bits to f - f* = {} by block size, {}, 4 workers", target, file.name),
       .x_label = "elements of a block",
       .y_label = "bits for each coordinate",
       .log_x = true,
       .log_y = true,
       .curves = {curve_by_block("l2", l2, &BlockRun::bits),
                  curve_by_block("linf", linf, &BlockRun::bits)}});
  ClaimTable table{
      .title = fmt::format("DIANA by blocks on {}, {} workers: until f - f* = {}; "
                           "without compression {} steps",
                           file.name, kWorkers, target, console::significant(exact, 3)),
      .header = {"block", "l2: steps", "bits", "linf: steps", "bits"},
      .rows = {}};
  for (std::size_t i = 0; i < kBlocks.size(); ++i) {
    table.rows.push_back({std::to_string(kBlocks[i]), console::fixed(l2[i].steps, 0),
                          console::fixed(l2[i].bits, 0), console::fixed(linf[i].steps, 0),
                          console::fixed(linf[i].bits, 0)});
  }
  claim.tables.push_back(std::move(table));
}

}  // namespace gradwire::reproduce
