// Networks trained to convergence: what publications mean by "full accuracy". resnet20 on CIFAR-10
// with the usual augmentation, momentum and a rate that falls in steps. A run takes hours, so that
// this is done in pieces: a stopped reproduction resumes after the last checkpoint of the run.
#include <fmt/format.h>

#include <array>

#include "console/format.h"
#include "gradwire/core/error.h"
#include "launch/stop_request.h"
#include "reproduce/claims.h"
#include "reproduce/data_there.h"
#include "reproduce/run_curves.h"
#include "reproduce/run_means.h"

namespace gradwire::reproduce {
namespace {

struct Contender {
  const char* method;
  bool has_momentum = false;  // of its own: the optimiser has none then
};

// In the order in which they run.
constexpr std::array<Contender, 9> kContenders = {
    {{"none"},
     {"ef(topk(1%) | natural)"},
     {"local(topk(10%, chunk=4096) | twobit, every=10)"},
     {"natural | entropy"},
     {"powersgd(rank=4)"},
     {"lgreco(topk)"},
     {"lgc(ring)"},
     {"diana(natural, momentum=0.9)", true},
     {"natural"}}};
constexpr std::size_t kNone = 0;

constexpr double kAccuracyLeast = 0.88;  // of none
constexpr double kPointsLost = 0.5;
constexpr double kMomentum = 0.9;

struct Setting {
  std::string data = "cifar10";
  double epochs = 20;
  std::uint64_t seeds = 2;
};

Setting setting_of(const Workbench& bench) {
  if (bench.is_quick()) return {.data = "generated", .epochs = 1, .seeds = 1};
  if (is_data_there("cifar10")) return {};
  throw Error("this needs CIFAR-10 in datasets/cifar10: run tools/get-data cifar10");
}

// The rate falls to a tenth after 40% of the run, and again after 80%. DIANA's momentum
// averages where the optimiser's adds up, so that its rate is 1/(1 - momentum) times as large.
session::TrainOptions options_of(const Setting& setting, const Contender& contender,
                                 std::uint64_t seed) {
  session::TrainOptions options;
  options.model = "resnet20";
  options.data = setting.data;
  options.workers.workers = 4;
  options.batch = 32;
  options.seed = seed;
  options.network.epochs = setting.epochs;
  options.network.learning_rate = contender.has_momentum ? 0.1 / (1 - kMomentum) : 0.1;
  options.network.optimiser = contender.has_momentum
                                  ? "sgd(decay=0.0001)"
                                  : fmt::format("sgd(momentum={}, decay=0.0001)", kMomentum);
  options.network.schedule = fmt::format("step(every={}, factor=0.1)", setting.epochs * 0.4);
  options.network.warmup_epochs = setting.epochs / 20;
  return options;
}

using Runs = std::array<std::vector<session::FinishedRun>, kContenders.size()>;

ClaimRow none_row(const Runs& runs, std::uint64_t seeds) {
  const double accuracy = mean_accuracy(runs[kNone]);
  return {.what = fmt::format("none: at least {}", percent(kAccuracyLeast)),
          .published = "91 to 92% after 160 epochs and more",
          .measured = percent(accuracy),
          .holds = accuracy >= kAccuracyLeast,
          .headline = "resnet20 on CIFAR-10, trained to convergence, without compression",
          .extent = extent_of({runs[kNone].size()}, seeds)};
}

ClaimRow accuracy_row(const Runs& runs, std::size_t contender, std::uint64_t seeds) {
  ClaimRow row{.what = fmt::format("{}: accuracy no more than {} points below none",
                                   kContenders[contender].method, kPointsLost),
               .published = "full accuracy",
               .measured = "",
               .headline = fmt::format("the same with {}", kContenders[contender].method),
               .extent = extent_of({runs[contender].size()}, seeds)};
  if (row.extent == Extent::nothing) return row;
  const Spread points = accuracy_points(runs[contender], runs[kNone]);
  row.measured = fmt::format("{} ({}), {} times fewer bytes, {}", points_text(points),
                             percent(mean_accuracy(runs[contender])),
                             console::significant(mean_ratio(runs[contender]), 3),
                             seeds_text(runs[contender]));
  row.holds = is_no_lower(points, kPointsLost);
  return row;
}

Picture picture_of(const Runs& runs) {
  Picture picture{.name = "converged-accuracy",
                  .title = "Test accuracy of resnet20 on CIFAR-10",
                  .x_label = "step",
                  .y_label = "test accuracy",
                  .log_x = false,
                  .log_y = false,
                  .curves = {}};
  for (std::size_t i = 0; i < kContenders.size(); ++i) {
    if (runs[i].empty()) continue;
    picture.curves.push_back(
        curve_of(runs[i].front(), kContenders[i].method, &record::Metrics::accuracy, Along::steps));
  }
  return picture;
}

}  // namespace

Claim reproduce_converged(Workbench& bench) {
  const Setting setting = setting_of(bench);
  bench.expect(0, setting.seeds * kContenders.size());
  Runs runs;
  for (std::uint64_t seed = 1; seed <= setting.seeds; ++seed) {
    for (std::size_t i = 0; i < kContenders.size(); ++i) {
      const Contender& contender = kContenders[i];
      auto run = bench.train_if_possible(
          fmt::format("{}-seed{}", session::safe_name(contender.method), seed),
          options_of(setting, contender, seed), contender.method);
      if (run) runs[i].push_back(std::move(*run));
    }
  }
  if (runs[kNone].empty()) throw launch::Stopped("no run was finished");
  Claim claim{.name = "converged",
              .rows = {none_row(runs, setting.seeds)},
              .tables = {},
              .pictures = {picture_of(runs)},
              .setting = fmt::format(
                  "resnet20 on {}, {} epochs with the usual augmentation, 4 workers, "
                  "batches of 32, momentum {}, a rate of 0.1 that falls to a tenth after "
                  "40% and 80% of the run, {}.",
                  setting.data, setting.epochs, kMomentum, seeds_text(runs[kNone]))};
  for (std::size_t i = 1; i < kContenders.size(); ++i) {
    claim.rows.push_back(accuracy_row(runs, i, setting.seeds));
  }
  return claim;
}

}  // namespace gradwire::reproduce
