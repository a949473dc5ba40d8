// LGC, learned gradient compression: a small code, learned while training goes on, for the values
// that sparsification keeps. Both instances against top-k and plain averaging.
#include <fmt/format.h>

#include <array>
#include <cmath>

#include "console/format.h"
#include "reproduce/claims.h"
#include "reproduce/cnn_runs.h"
#include "reproduce/run_means.h"

namespace gradwire::reproduce {
namespace {

using record::Json;

// dgc(1%, momentum=0) is ef(topk(1%)), to the bit.
constexpr std::array kMethods = {"none", "ef(topk(1%))", "lgc(ring)", "lgc(server)",
                                 "ef(topk(1%) | natural)", "lgc(ring, code=plain)",
                                 // The publication's: four channels of 8 bits for 16 values.
                                 "lgc(ring, share=0.1%, code=deep, channels=4)"};
constexpr std::size_t kNone = 0;
constexpr std::size_t kTopk = 1;
constexpr std::size_t kRing = 2;
constexpr std::size_t kServer = 3;
constexpr std::size_t kNaturalTopk = 4;
constexpr std::size_t kPlain = 5;
constexpr std::size_t kPublishedCode = 6;
constexpr std::size_t kQuickMethods = 4;  // the first ones

constexpr double kPublishedPointsLost = 0.18;  // ResNet-101 on CIFAR-10
constexpr double kErrorMax = 0.4;              // with which a run still followed top-k's

// Of a learned code, means over the seeds.
struct CodeFigures {
  bool is_used = false;  // with every seed
  double coded_step_bytes = 0;
  double error = 0;        // of the decoded mean
  double learn_share = 0;  // of the time
};

CodeFigures code_figures(std::span<const session::FinishedRun> runs) {
  CodeFigures figures{.is_used = true};
  for (const session::FinishedRun& run : runs) {
    const Json code = run.record.notes.value("code", Json());
    if (code.is_null() || code.at("phases").at("coded") == 0 || code.at("mean_error").is_null()) {
      return {};
    }
    const double share = 1 / static_cast<double>(runs.size());
    figures.coded_step_bytes += share * code.at("coded_bytes_per_step").get<double>();
    figures.error += share * code.at("mean_error").get<double>();
    figures.learn_share += share * 1e-3 * code.at("learn_ms").get<double>() / run.record.seconds;
  }
  return figures;
}

using Runs = std::array<std::vector<session::FinishedRun>, kMethods.size()>;

std::size_t count_of(const Workbench& bench) {
  return bench.is_quick() ? kQuickMethods : kMethods.size();
}

Runs run_all(Workbench& bench, std::uint64_t seeds) {
  Runs runs;
  bench.for_each_seed(seeds, [&](std::uint64_t seed) {
    const session::TrainOptions options =
        bench.is_quick() ? cnn_options(360, 30, seed) : cnn_options(3 * 234, 39, seed);  // 3 epochs
    std::vector<session::FinishedRun> some;
    for (std::size_t i = 0; i < count_of(bench); ++i) {
      some.push_back(bench.train(fmt::format("{}-seed{}", session::safe_name(kMethods[i]), seed),
                                 options, kMethods[i]));
    }
    for (std::size_t i = 0; i < some.size(); ++i) runs[i].push_back(std::move(some[i]));
  });
  return runs;
}

// --- Segmentation, the publication's second task ---

struct SegmentRuns {
  std::vector<session::FinishedRun> none;
  std::vector<session::FinishedRun> lgc;
};

session::TrainOptions segment_options(bool is_quick, std::uint64_t seed) {
  session::TrainOptions options;
  options.model = "segmenter";
  options.workers.workers = 4;
  options.batch = 8;
  options.seed = seed;
  options.network.epochs = is_quick ? 3 : 24;
  options.network.learning_rate = 0.05;
  options.network.optimiser = "sgd(momentum=0.9)";
  options.network.schedule = "cosine";
  return options;
}

SegmentRuns run_segments(Workbench& bench, std::uint64_t seeds) {
  SegmentRuns runs;
  bench.for_each_seed(seeds, [&](std::uint64_t seed) {
    const auto train = [&](const char* method) {
      return bench.train(fmt::format("segments-{}-seed{}", session::safe_name(method), seed),
                         segment_options(bench.is_quick(), seed), method);
    };
    session::FinishedRun none = train(kMethods[kNone]);
    session::FinishedRun lgc = train(kMethods[kRing]);
    runs.none.push_back(std::move(none));
    runs.lgc.push_back(std::move(lgc));
  });
  return runs;
}

ClaimRow segments_row(const SegmentRuns& runs, bool is_quick) {
  const double points_lost = is_quick ? 3 : 1;
  std::vector<double> points;
  double none = 0;
  double lgc = 0;
  for (std::size_t i = 0; i < runs.lgc.size(); ++i) {
    const double before = runs.none[i].record.final.mean_iou.value_or(std::nan(""));
    const double after = runs.lgc[i].record.final.mean_iou.value_or(std::nan(""));
    points.push_back(100 * (after - before));
    none += before / static_cast<double>(runs.lgc.size());
    lgc += after / static_cast<double>(runs.lgc.size());
  }
  const Spread difference = spread_of(points);
  ClaimRow row{.what = fmt::format("{} on segmentation: mean IoU no more than {} points below none",
                                   kMethods[kRing], points_lost),
               .published = "next to no loss, with another network and real images",
               .measured = fmt::format("{} ({} instead of {}), {} times fewer bytes",
                                       points_text(difference), percent(lgc), percent(none),
                                       console::significant(mean_ratio(runs.lgc), 3)),
               .holds = is_no_lower(difference, points_lost)};
  if (!row.holds) row.reason = "the runs are short";
  return row;
}

ClaimRow accuracy_row(const Runs& runs, std::size_t method, bool is_quick) {
  // One short run with another rounding is worth a point either way.
  const double points_lost = is_quick ? 1 : kPublishedPointsLost;
  const Spread points = accuracy_points(runs[method], runs[kNone]);
  ClaimRow row{
      .what = fmt::format("{}: accuracy no more than {} points below none", kMethods[method],
                          console::fixed(points_lost, 2)),
      .published = "0.18 points below (93.57%, ResNet-101 on CIFAR-10)",
      .measured = fmt::format("{} ({})", points_text(points), percent(mean_accuracy(runs[method]))),
      .holds = is_no_lower(points, points_lost)};
  if (!row.holds) {
    row.reason = "the runs are short, and the error memory still holds a part of the gradient";
  }
  return row;
}

ClaimRow step_row(const Runs& runs, std::size_t method) {
  const CodeFigures code = code_figures(runs[method]);
  const double topk = mean_step_bytes(runs[kTopk]);
  ClaimRow row{.what = fmt::format("{}: a step by the code sends less than {}", kMethods[method],
                                   kMethods[kTopk]),
               .published = "less than top-k",
               .measured = "the code was never used"};
  if (!code.is_used) {
    row.reason = "the code's error never came below its bound";
    return row;
  }
  row.measured = fmt::format(
      "{} kB instead of {}: {} times less", console::significant(1e-3 * code.coded_step_bytes, 3),
      console::significant(1e-3 * topk, 3), console::significant(topk / code.coded_step_bytes, 3));
  row.holds = code.coded_step_bytes < topk;
  if (!row.holds) row.reason = "places cost more than the code saves";
  if (method == kRing) row.headline = "LGC: bytes of a coded step against top-k 1%";
  return row;
}

ClaimRow ratio_row(const Runs& runs, std::size_t method) {
  const double ratio = mean_ratio(runs[method]);
  const double topk = mean_ratio(runs[kTopk]);
  ClaimRow row{.what = fmt::format("{}: ratio of the whole run beyond that of {}", kMethods[method],
                                   kMethods[kTopk]),
               .published = "beyond top-k's",
               .measured = fmt::format("{} instead of {}", console::significant(ratio, 3),
                                       console::significant(topk, 3)),
               .holds = ratio > topk};
  const CodeFigures code = code_figures(runs[method]);
  const double topk_bytes = mean_step_bytes(runs[kTopk]);
  if (!code.is_used || code.coded_step_bytes >= topk_bytes) {
    row.reason = "steps by the code, if there are any, send no less";
    return row;
  }
  // What was sent beyond steps by the code, over what each of these saves.
  const double extra = 1e6 * mean_megabytes(runs[method]) -
                       code.coded_step_bytes * static_cast<double>(runs[method][0].record.steps);
  row.reason = fmt::format(
      "steps before the code is used weigh much in a short run: it takes about {} steps to make up "
      "for them",
      console::fixed(extra / (topk_bytes - code.coded_step_bytes), 0));
  return row;
}

ClaimRow error_row(const Runs& runs, std::size_t method) {
  const CodeFigures code = code_figures(runs[method]);
  ClaimRow row{
      .what = fmt::format("{}: the decoded mean's relative error at most {}", kMethods[method],
                          kErrorMax),
      .published = "no figure",
      .measured = code.is_used ? console::significant(code.error, 2) : "the code was never used",
      .holds = code.is_used && code.error <= kErrorMax};
  if (!row.holds) row.reason = "the workers' values have too little in common so early";
  return row;
}

// With learned indices; 8.78 kB without.
ClaimRow coded_row(const Runs& runs) {
  constexpr double kAsked = 7.9e3;
  const CodeFigures code = code_figures(runs[kRing]);
  return {.what = fmt::format("{}: a step by the code takes at most 7.9 kB", kMethods[kRing]),
          .published = "no figure",
          .measured = code.is_used ? console::significant(1e-3 * code.coded_step_bytes, 3) + " kB"
                                   : "the code was never used",
          .holds = code.is_used && code.coded_step_bytes <= kAsked};
}

// Whether there is something to learn, and whether rounded values alone would do.
ClaimRow against_row(const Runs& runs, std::size_t method, std::size_t other) {
  const double ratio = mean_ratio(runs[method]);
  const double than = mean_ratio(runs[other]);
  ClaimRow row{.what = fmt::format("{}: ratio of the whole run beyond that of {}", kMethods[method],
                                   kMethods[other]),
               .published = "no figure",
               .measured = fmt::format("{} instead of {}, {}", console::significant(ratio, 3),
                                       console::significant(than, 3),
                                       points_text(accuracy_points(runs[method], runs[other]))),
               .holds = ratio > than};
  if (other == kNaturalTopk) {
    row.headline = "LGC: ratio of the whole run against top-k 1% with rounded values";
  }
  if (!row.holds) {
    row.reason =
        "with small batches the workers' values have next to nothing in common: what can be "
        "learned "
        "is where they are";
  }
  return row;
}

ClaimTable table_of(const Runs& runs) {
  ClaimTable table{
      .title = "Accuracy and bytes of whole runs, and of steps by the code",
      .header = {"method", "accuracy", "against none", "ratio", "kB a step",
                 "kB a step by the code", "error of the decoded mean", "of the time to learn"},
      .rows = {}};
  for (std::size_t i = 0; i < kMethods.size(); ++i) {
    if (runs[i].empty()) continue;
    const CodeFigures code = code_figures(runs[i]);
    const auto of_code = [&](const std::string& text) { return code.is_used ? text : "-"; };
    table.rows.push_back({kMethods[i], percent(mean_accuracy(runs[i])),
                          i == kNone ? "-" : points_text(accuracy_points(runs[i], runs[kNone])),
                          console::significant(mean_ratio(runs[i]), 3),
                          console::significant(1e-3 * mean_step_bytes(runs[i]), 4),
                          of_code(console::significant(1e-3 * code.coded_step_bytes, 3)),
                          of_code(console::significant(code.error, 2)),
                          of_code(console::fixed(100 * code.learn_share, 0) + "%")});
  }
  return table;
}

Picture accuracy_picture(const Runs& runs) {
  Picture picture = cnn_accuracy_picture("lgc-accuracy");
  for (std::size_t i = 0; i < kMethods.size(); ++i) {
    if (runs[i].empty()) continue;
    picture.curves.push_back(cnn_accuracy_curve(runs[i].front(), kMethods[i]));
  }
  return picture;
}

// Whenever the code was tried or used.
Picture error_picture(const Runs& runs) {
  Picture picture{.name = "lgc-error",
                  .title = "What a learned code loses of the mean, while it learns and afterwards",
                  .x_label = "step",
                  .y_label = "relative error of the decoded mean",
                  .log_x = false,
                  .log_y = false,
                  .curves = {}};
  for (const std::size_t method : {kRing, kServer}) {
    Curve curve{.label = kMethods[method], .x = {}, .y = {}};
    for (const record::StepRecord& step : runs[method].front().steps) {
      const auto error = step.note ? number_of(step.note->get("error")) : std::nullopt;
      if (!error) continue;
      curve.x.push_back(static_cast<double>(step.step));
      curve.y.push_back(*error);
    }
    picture.curves.push_back(std::move(curve));
  }
  return picture;
}

}  // namespace

Claim reproduce_lgc(Workbench& bench) {
  const std::uint64_t seeds = bench.is_quick() ? 1 : 3;
  bench.expect(0, seeds * (count_of(bench) + 2));
  const Runs runs = run_all(bench, seeds);
  const SegmentRuns segments = run_segments(bench, seeds);
  Claim claim{.name = "lgc",
              .rows = {},
              .tables = {table_of(runs)},
              .pictures = {accuracy_picture(runs), error_picture(runs)},
              .setting = fmt::format("Here {}; a small encoder and decoder on 1,600 generated "
                                     "images of shapes, for segmentation. Published: ResNet-50 and "
                                     "ResNet-101 on ImageNet and CIFAR-10.",
                                     cnn_text(runs[kNone]))};
  for (const std::size_t method : {kRing, kServer}) {
    claim.rows.push_back(accuracy_row(runs, method, bench.is_quick()));
    claim.rows.push_back(step_row(runs, method));
    claim.rows.push_back(ratio_row(runs, method));
    claim.rows.push_back(error_row(runs, method));
  }
  claim.rows.push_back(coded_row(runs));
  claim.rows.push_back(segments_row(segments, bench.is_quick()));
  if (bench.is_quick()) return claim;
  claim.rows.push_back(against_row(runs, kRing, kNaturalTopk));
  claim.rows.push_back(against_row(runs, kRing, kPlain));
  claim.rows.push_back(accuracy_row(runs, kPublishedCode, bench.is_quick()));
  claim.rows.push_back(step_row(runs, kPublishedCode));
  return claim;
}

}  // namespace gradwire::reproduce
