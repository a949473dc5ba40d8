// DIANA (Mishchenko et al., "Distributed learning with compressed gradient differences").
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "bench/gradients.h"
#include "console/format.h"
#include "gradwire/file/file_failure.h"
#include "reproduce/claims.h"
#include "reproduce/codec_trial.h"
#include "reproduce/diana_parts.h"
#include "reproduce/libsvm_twin.h"
#include "reproduce/run_curves.h"

namespace gradwire::reproduce {
namespace {

constexpr std::size_t kWorkers = 20;
constexpr TwinShape kShapes[] = {kMushrooms, kA5a, kW8a};

// What tells an optimum from a place where a method stalls.
struct Scale {
  std::uint64_t steps;
  const char* l2;   // the condition number
  double reached;   // f - f* that counts as the optimum
  double distance;  // how many times farther away others must stay
};

Scale scale_of(const Workbench& bench) {
  return bench.is_quick() ? Scale{.steps = 800, .l2 = "L/20", .reached = 1e-7, .distance = 100}
                          : Scale{.steps = 4000, .l2 = "L/100", .reached = 1e-9, .distance = 1000};
}

session::TrainOptions convex_options(const Workbench& bench, const LibsvmFile& file) {
  const Scale scale = scale_of(bench);
  session::TrainOptions options;
  options.model = "logistic";
  options.data = file.path;
  options.split = "label";
  options.workers.workers = kWorkers;
  options.steps = scale.steps;
  options.convex.l2 = scale.l2;
  return options;
}

double gap_of(const session::FinishedRun& run) {
  return run.record.final.gap.value_or(std::numeric_limits<double>::infinity());
}

// The same curve against bits that a worker said for each coordinate.
Curve by_bits(const session::FinishedRun& run, const Racer& racer) {
  Curve curve = curve_of(run, racer.name, &record::Metrics::gap, Along::steps);
  const double bits = payload_bits(racer.codec, run.record.parameters);
  for (double& x : curve.x) x *= bits;
  return curve;
}

// The middle of the last quarter against that of the quarter before the middle: one that stalls
// does not come much nearer.
double late_progress(const session::FinishedRun& run) {
  const Curve curve = curve_of(run, "", &record::Metrics::gap, Along::steps);
  const std::size_t count = curve.y.size();
  const auto middle = [&](std::size_t from, std::size_t to) {
    std::vector<double> part(curve.y.begin() + static_cast<std::ptrdiff_t>(from),
                             curve.y.begin() + static_cast<std::ptrdiff_t>(to));
    std::ranges::sort(part);
    return part[part.size() / 2];
  };
  return middle(count / 4, count / 2) / middle(3 * count / 4, count);
}

struct Race {
  LibsvmFile file;
  std::vector<session::FinishedRun> runs;  // in the order of the racers
};

// All with the step that DIANA has a proof for.
Race run_race(Workbench& bench, const TwinShape& shape) {
  Race race{.file = find_libsvm(bench, shape), .runs = {}};
  session::TrainOptions options = convex_options(bench, race.file);
  for (const Racer& racer : kRacers) {
    race.runs.push_back(
        bench.train(fmt::format("{}-{}", race.file.name, racer.name), options, racer.method));
    const double step = race.runs.front().record.configuration.at("learning_rate");
    options.convex.step = fmt::format("{}", step);
  }
  return race;
}

void add_race_rows(const Race& race, const Scale& scale, Claim& claim) {
  const session::FinishedRun& diana = race.runs.front();
  const double reached = gap_of(diana);
  claim.rows.push_back(
      {.what = fmt::format("{}: DIANA, f - f*", race.file.name),
       .published = "converges to the optimum, linearly (the rate is in the picture only)",
       .measured = fmt::format("{} after {} steps", console::significant(reached, 2),
                               console::thousands(diana.record.steps)),
       .holds = reached < scale.reached,
       .headline = fmt::format("DIANA: loss minus the optimal loss, on {}", race.file.name)});
  std::string floors;
  bool all_stall = true;
  for (std::size_t i = 1; i < race.runs.size(); ++i) {
    const double gap = gap_of(race.runs[i]);
    floors +=
        fmt::format("{}{} {}", i == 1 ? "" : ", ", kRacers[i].name, console::significant(gap, 2));
    all_stall =
        all_stall && !(gap < scale.distance * reached) && !(late_progress(race.runs[i]) > 3);
  }
  claim.rows.push_back({.what = fmt::format("{}: those without shifts", race.file.name),
                        .published = "stall at a distance, with the same step",
                        .measured = floors,
                        .holds = all_stall});
}

Picture race_picture(const Race& race) {
  Picture picture{.name = fmt::format("diana-{}", race.file.name),
                  .title = fmt::format("f - f* on {}, 20 workers, split by label", race.file.name),
                  .x_label = "bits for each coordinate that a worker sent (payload)",
                  .y_label = "f - f*",
                  .log_y = true,
                  .curves = {}};
  for (std::size_t i = 0; i < race.runs.size(); ++i) {
    Curve curve = by_bits(race.runs[i], kRacers[i]);
    for (double& y : curve.y) y = std::max(y, 1e-16);  // rounding may go below f*
    picture.curves.push_back(std::move(curve));
  }
  return picture;
}

void add_races(Workbench& bench, Claim& claim) {
  const Scale scale = scale_of(bench);
  ClaimTable table{.title = fmt::format("f - f* after {} steps of the same size",
                                        console::thousands(scale.steps)),
                   .header = {"data"},
                   .rows = {}};
  for (const Racer& racer : kRacers) {
    table.header.push_back(
        fmt::format("{}, {} bits", racer.name,
                    console::significant(payload_bits(racer.codec, kA5a.features), 2)));
  }
  for (const TwinShape& shape : kShapes) {
    const Race race = run_race(bench, shape);
    add_race_rows(race, scale, claim);
    claim.pictures.push_back(race_picture(race));
    table.rows.push_back({race.file.name});
    for (const session::FinishedRun& run : race.runs) {
      table.rows.back().push_back(console::significant(gap_of(run), 2));
    }
  }
  claim.tables.push_back(std::move(table));
}

void add_l1(Workbench& bench, Claim& claim) {
  const Scale scale = scale_of(bench);
  const LibsvmFile file = find_libsvm(bench, kMushrooms);
  session::TrainOptions options = convex_options(bench, file);
  options.l1 = "0.001";
  const session::FinishedRun diana =
      bench.train("l1-" + file.name + "-DIANA", options, kRacers[0].method);
  const double step = diana.record.configuration.at("learning_rate");
  options.convex.step = fmt::format("{}", step);
  const session::FinishedRun direct =
      bench.train("l1-" + file.name + "-QSGD", options, kRacers[1].method);
  claim.rows.push_back(
      {.what = fmt::format("{} with an l1 regulariser: f + R - min", file.name),
       .published = "DIANA takes any R by its prox, and reaches the optimum",
       .measured = fmt::format("DIANA {}, QSGD {}", console::significant(gap_of(diana), 2),
                               console::significant(gap_of(direct), 2)),
       .holds = gap_of(diana) < scale.reached});
}

std::string setting_of(const Workbench& bench) {
  std::string twins;
  for (const TwinShape& shape : kShapes) {
    if (find_libsvm(bench, shape).is_twin)
      twins += (twins.empty() ? "" : ", ") + std::string(shape.name);
  }
  return fmt::format(
      "Logistic regression by 20 workers of which most see one label only, full batches, l2 of {}. "
      "{}",
      scale_of(bench).l2,
      twins.empty() ? "All data sets are the published files."
                    : "No files of " + twins +
                          " were given (--data-dir): generated twins of the same size stand for "
                          "them.");
}

// A directory that was given, and has none of them, is a mistake.
void check_data(const Workbench& bench) {
  const auto& directory = bench.data_directory();
  if (directory.empty()) return;
  const auto is_there = [&](const TwinShape& shape) {
    return std::filesystem::exists(directory / shape.name);
  };
  if (std::ranges::any_of(kShapes, is_there)) return;
  fail_file(directory, "has none of the files mushrooms, a5a and w8a");
}

}  // namespace

double payload_bits(const std::string& codec, std::size_t elements) {
  std::vector<float> values(elements);
  bench::fill_gaussian({.seed = 1, .purpose = Purpose::data}, values);
  return try_codec(codec, values, 1).bits;
}

Claim reproduce_diana(Workbench& bench) {
  check_data(bench);
  bench.expect(kNetworkTrials, std::size(kShapes) * std::size(kRacers) + 2 + kBlockRuns +
                                   kNoiseRuns + kNetworkRuns);
  Claim claim{
      .name = "diana", .rows = {}, .tables = {}, .pictures = {}, .setting = setting_of(bench)};
  add_races(bench, claim);
  add_l1(bench, claim);
  add_blocks(bench, claim);
  add_noise(bench, claim);
  add_network(bench, claim);
  return claim;
}

}  // namespace gradwire::reproduce
