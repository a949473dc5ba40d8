// L-GreCo, layerwise-adaptive gradient compression: every layer its own bits, share or rank. Plans
// for recorded gradients against uniform settings of the same error, and training by both.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "console/format.h"
#include "record/gradient_files.h"
#include "reproduce/claims.h"
#include "reproduce/cnn_runs.h"
#include "reproduce/data_there.h"
#include "reproduce/recorded_layers.h"
#include "reproduce/run_means.h"
#include "train/gradient_recorder.h"

namespace gradwire::reproduce {
namespace {

using record::Json;

struct FamilyName {
  const char* name;
  Family family;
};

constexpr std::array<FamilyName, 3> kFamilies = {
    {{"qsgd", Family::qsgd}, {"topk", Family::topk}, {"powersgd", Family::powersgd}}};

// Methods to train by.
struct Pair {
  const char* uniform;
  const char* adaptive;
};

// Of sparse gradients also what the published measure of errors plans, within two ranges. The
// authors' code has 0.5..2, for ranks.
constexpr std::array<Pair, 6> kPairs = {
    {{"qsgd(bits=4)", "lgreco(qsgd)"},
     {"ef(topk(1%))", "lgreco(topk)"},
     {"ef(topk(1%))", "lgreco(topk, error=norms)"},
     {"ef(topk(1%))", "lgreco(topk, range=0.5..2, error=norms)"},
     {"powersgd(rank=4)", "lgreco(powersgd)"},
     {"accordion(topk)", "lgreco(topk, reference=accordion(topk), period=100)"}}};
constexpr std::size_t kAccordion = 5;
constexpr double kPublishedAccordionTimes = 1.5;

constexpr double kPublishedTimes = 5;  // the largest improvement over a uniform setting

using Families = std::array<RecordedLayers, kFamilies.size()>;
using Runs = std::vector<session::FinishedRun>;  // one for each seed

// --- Plans for recorded gradients ---

// A network of many layers, since there is little to choose for few.
session::FinishedRun record_gradients(Workbench& bench) {
  const std::uint64_t steps = bench.is_quick() ? 30 : 300;
  session::TrainOptions options;
  options.model = "resnet20";
  options.data = !bench.is_quick() && is_data_there("cifar10") ? "cifar10" : "fashion-mnist";
  options.workers.workers = 2;
  options.batch = 32;
  options.steps = steps + 1;
  options.network.record_gradients = std::to_string(steps);
  options.network.evaluate_every = options.steps;
  return bench.train("recorded-" + options.data, options, "none");
}

Families read_families(const session::FinishedRun& recorded) {
  const std::filesystem::path directory = recorded.directory / train::kGradientFiles;
  const std::string file = fmt::format("step{:04}_worker0.f32", recorded.record.steps - 1);
  Families families;
  for (std::size_t i = 0; i < kFamilies.size(); ++i) {
    families[i] =
        read_layers(directory / file, directory / record::kShapesFile, kFamilies[i].family);
  }
  return families;
}

std::string data_of(const session::FinishedRun& run) {
  return run.record.configuration.at("data").get<std::string>();
}

const std::string& uniform_spec(const RecordedLayers& layers) {
  return layers.candidates.all[layers.candidates.uniform].spec;
}

ClaimRow plan_row(const RecordedLayers& layers) {
  const LayerPlan plan = plan_for(layers, 1);
  ClaimRow row{
      .what = fmt::format("a plan for one gradient within 0.1..10 of {}: smaller at the same error",
                          uniform_spec(layers)),
      .published = "smaller, for all three families; no range is given",
      .measured = fmt::format("{} kB instead of {}: {} times smaller",
                              console::significant(1e-3 * plan.bytes, 3),
                              console::significant(1e-3 * plan.uniform_bytes, 3),
                              console::significant(plan.uniform_bytes / plan.bytes, 3)),
      .holds = plan.bytes < plan.uniform_bytes && plan.error <= plan.uniform_error};
  if (!row.holds) row.reason = "layers that are much alike leave nothing to choose";
  return row;
}

ClaimTable plan_table(const Families& families, const session::FinishedRun& recorded) {
  ClaimTable table{.title = fmt::format("What the layers of resnet20 on {} are sent by, step {}",
                                        data_of(recorded), recorded.record.steps - 1),
                   .header = {"layer", "elements"},
                   .rows = {}};
  std::vector<LayerPlan> plans;
  for (const RecordedLayers& layers : families) {
    plans.push_back(plan_for(layers, 1));
    table.header.push_back("instead of " + uniform_spec(layers));
  }
  for (std::size_t layer = 0; layer < families[0].tensors.size(); ++layer) {
    const MethodTensor& tensor = families[0].tensors[layer];
    std::vector<std::string> row = {tensor.name, console::thousands(tensor.elements())};
    for (std::size_t i = 0; i < families.size(); ++i) {
      row.push_back(families[i].candidates.all[plans[i].choices[layer]].spec);
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

// Bits a value by layer.
Picture plan_picture(const RecordedLayers& layers, const FamilyName& family) {
  Picture picture{
      .name = fmt::format("lgreco-plan-{}", family.name),
      .title = fmt::format("Bits by layer: a plan with the error of {}", uniform_spec(layers)),
      .x_label = "layers, from the last to the first",
      .y_label = "bits per value",
      .log_x = false,
      .log_y = true,
      .curves = {},
      .x_names = {}};
  for (const MethodTensor& tensor : layers.tensors) picture.x_names.push_back(tensor.name);
  const LayerPlan plan = plan_for(layers, 1);
  const LayerPlan uniform = uniform_plan(layers, layers.candidates.uniform);
  for (const auto& [label, of] :
       {std::pair{uniform_spec(layers), &uniform}, {std::string("a plan"), &plan}}) {
    Curve curve{.label = label, .x = {}, .y = {}};
    for (std::size_t layer = 0; layer < layers.tensors.size(); ++layer) {
      curve.x.push_back(static_cast<double>(layer + 1));
      curve.y.push_back(bits_a_value(layers, *of, layer));
    }
    picture.curves.push_back(std::move(curve));
  }
  return picture;
}

void add_point(const LayerPlan& plan, Curve& curve) {
  curve.x.push_back(1e-3 * plan.bytes);
  curve.y.push_back(plan.relative_error());
}

// Error against bytes: all settings of a family for all layers alike, and plans.
Picture error_picture(const RecordedLayers& layers, const FamilyName& family) {
  Picture picture{.name = fmt::format("lgreco-error-{}", family.name),
                  .title = fmt::format("Error against bytes, {} and plans of it", family.name),
                  .x_label = "kB of a worker's message",
                  .y_label = "sum of the layers' errors / sum of their norms",
                  .log_x = true,
                  .log_y = family.family == Family::qsgd,
                  .curves = {}};
  Curve uniform{.label = "uniform", .x = {}, .y = {}};
  for (std::size_t i = 1; i < layers.candidates.all.size(); ++i) {  // 0 is exact
    add_point(uniform_plan(layers, i), uniform);
  }
  // The same errors, as far as they are multiples of the usual setting's.
  Curve adaptive{.label = "plans", .x = {}, .y = {}};
  const double usual = uniform_plan(layers, layers.candidates.uniform).relative_error();
  for (const double error : uniform.y) add_point(plan_for(layers, error / usual), adaptive);
  picture.curves = {std::move(uniform), std::move(adaptive)};
  return picture;
}

// --- Training ---

struct TrainedPair {
  Runs uniform;
  Runs adaptive;
};
using Trained = std::array<TrainedPair, kPairs.size()>;

Trained train_all(Workbench& bench, std::uint64_t seeds) {
  Trained trained;
  bench.for_each_seed(seeds, [&](std::uint64_t seed) {
    const session::TrainOptions options =
        bench.is_quick() ? cnn_options(240, 30, seed) : cnn_options(2 * 234, 39, seed);  // 2 epochs
    const auto train = [&](const std::string& method) {
      return bench.train(fmt::format("{}-seed{}", session::safe_name(method), seed), options,
                         method);
    };
    std::vector<session::FinishedRun> some;  // of pairs
    for (const Pair& pair : kPairs) {
      some.push_back(train(pair.uniform));
      some.push_back(train(pair.adaptive));
    }
    for (std::size_t i = 0; i < kPairs.size(); ++i) {
      trained[i].uniform.push_back(std::move(some[2 * i]));
      trained[i].adaptive.push_back(std::move(some[2 * i + 1]));
    }
  });
  return trained;
}

// What two short runs that differ in their rounding alone may differ by.
double points_that_may_be_lost(bool is_quick) { return is_quick ? 1 : 0.25; }

ClaimRow accuracy_row(const TrainedPair& runs, const Pair& pair, bool is_quick) {
  const double points_lost = points_that_may_be_lost(is_quick);
  const Spread points = accuracy_points(runs.adaptive, runs.uniform);
  ClaimRow row{.what = fmt::format("{}: accuracy no more than {} points below {}", pair.adaptive,
                                   console::fixed(points_lost, 2), pair.uniform),
               .published = "full accuracy recovered",
               .measured = fmt::format("{} ({})", points_text(points),
                                       percent(mean_accuracy(runs.adaptive))),
               .holds = is_no_lower(points, points_lost)};
  if (!row.holds && std::string_view(pair.adaptive).find("error=norms") != std::string_view::npos) {
    row.reason =
        "in a sum of norms hardly anything is gained by sending a large layer: it gets the "
        "smallest "
        "share of the range, and what the error memory holds back comes late, for a model that has "
        "moved on";
  } else if (!row.holds) {
    row.reason = "a short run of a small network";
  }
  return row;
}

ClaimRow bytes_row(const TrainedPair& runs, const Pair& pair) {
  const double uniform = mean_megabytes(runs.uniform);
  const double adaptive = mean_megabytes(runs.adaptive);
  ClaimRow row{
      .what = fmt::format("{}: fewer bytes in training than {}", pair.adaptive, pair.uniform),
      .published = "fewer",
      .measured = fmt::format("{} MB instead of {}: {} times", console::significant(adaptive, 3),
                              console::significant(uniform, 3),
                              console::significant(uniform / adaptive, 3)),
      .holds = adaptive < uniform};
  if (!row.holds) {
    row.reason =
        "one layer of this network holds almost all of it, so that there is little to choose";
  }
  return row;
}

ClaimRow accordion_row(const TrainedPair& runs, bool is_quick) {
  const double times = mean_megabytes(runs.uniform) / mean_megabytes(runs.adaptive);
  const Spread points = accuracy_points(runs.adaptive, runs.uniform);
  ClaimRow row{
      .what = fmt::format("on top of Accordion: {} times fewer bytes, accuracy no more than {} "
                          "points below",
                          kPublishedAccordionTimes,
                          console::fixed(points_that_may_be_lost(is_quick), 2)),
      .published = "a ratio larger by 50%",
      .measured = fmt::format("{} times, {}", console::significant(times, 3), points_text(points)),
      .holds = times >= kPublishedAccordionTimes &&
               is_no_lower(points, points_that_may_be_lost(is_quick)),
      .headline = "L-GreCo on top of Accordion: bytes"};
  if (!row.holds) {
    row.reason =
        "one layer of this network holds almost all of it, so that there is little to choose";
  }
  return row;
}

// Of pairs that kept their accuracy: what a plan saves at a loss is no improvement.
ClaimRow largest_row(const Trained& trained, bool is_quick) {
  double largest = 0;
  std::string best = "none kept its accuracy";
  for (std::size_t i = 0; i < kPairs.size(); ++i) {
    const auto& [uniform, adaptive] = trained[i];
    const Spread points = accuracy_points(adaptive, uniform);
    const double times = mean_megabytes(uniform) / mean_megabytes(adaptive);
    if (!is_no_lower(points, points_that_may_be_lost(is_quick)) || times <= largest) continue;
    largest = times;
    best = kPairs[i].adaptive;
  }
  ClaimRow row{.what = "the largest improvement in training, of those that keep the accuracy",
               .published = fmt::format("up to {} times", kPublishedTimes),
               .measured = fmt::format("{} times ({})", console::significant(largest, 3), best),
               .holds = largest >= kPublishedTimes,
               .headline = "L-GreCo on a cnn: fewer bytes than the uniform setting, accuracy kept"};
  if (!row.holds) {
    row.reason =
        "one layer holds almost all of this network, and plans pay where many layers differ: "
        "published figures are of ResNets, Transformers and the like, trained to convergence";
  }
  return row;
}

// Pairs with the same uniform setting follow one another, and its runs are shown once.
bool is_first_of_uniform(std::size_t pair) {
  return pair == 0 || std::string_view(kPairs[pair].uniform) != kPairs[pair - 1].uniform;
}

ClaimTable training_table(const Trained& trained) {
  ClaimTable table{.title = "Accuracy and bytes of whole runs",
                   .header = {"method", "accuracy", "against", "MB sent per worker", "ratio"},
                   .rows = {}};
  const auto add = [&](const std::string& method, const Runs& runs, const std::string& against) {
    table.rows.push_back({method, percent(mean_accuracy(runs)), against,
                          console::significant(mean_megabytes(runs), 3),
                          console::significant(mean_ratio(runs), 3)});
  };
  for (std::size_t i = 0; i < kPairs.size(); ++i) {
    if (is_first_of_uniform(i)) add(kPairs[i].uniform, trained[i].uniform, "-");
    const Spread points = accuracy_points(trained[i].adaptive, trained[i].uniform);
    add(kPairs[i].adaptive, trained[i].adaptive,
        fmt::format("{}: {}", kPairs[i].uniform, points_text(points)));
  }
  return table;
}

// What a layer was sent by after a run's first plan, and after its last one.
std::string choices_text(const Json& first, const Json& last, std::size_t layer) {
  const std::string before = first.at(layer).at("choice");
  const std::string after = last.at(layer).at("choice");
  return before == after ? before : before + ", then " + after;
}

ClaimTable training_plans_table(const Trained& trained) {
  ClaimTable table{.title = "What the cnn's layers were sent by, first and last plan",
                   .header = {"layer", "elements"},
                   .rows = {}};
  for (std::size_t i = 0; i < kPairs.size(); ++i) {
    table.header.emplace_back(kPairs[i].adaptive);
    std::vector<Json> plans;  // their layers
    for (const Json& plan :
         trained[i].adaptive.front().record.notes.value("plans", Json::array())) {
      if (!plan.at("layers").empty()) plans.push_back(plan.at("layers"));  // others were not made
    }
    for (std::size_t layer = 0; !plans.empty() && layer < plans.front().size(); ++layer) {
      const Json& of_layer = plans.front()[layer];
      if (table.rows.size() == layer) {
        table.rows.push_back({of_layer.at("name").get<std::string>(),
                              console::thousands(of_layer.at("elements").get<std::uint64_t>())});
      }
      table.rows[layer].push_back(choices_text(plans.front(), plans.back(), layer));
    }
  }
  for (auto& row : table.rows) row.resize(table.header.size());
  return table;
}

Picture accuracy_picture(const Trained& trained) {
  Picture picture = cnn_accuracy_picture("lgreco-accuracy");
  const auto add = [&](const char* method, const Runs& runs) {
    picture.curves.push_back(cnn_accuracy_curve(runs.front(), method));
  };
  for (std::size_t i = 0; i < kPairs.size(); ++i) {
    if (is_first_of_uniform(i)) add(kPairs[i].uniform, trained[i].uniform);
    add(kPairs[i].adaptive, trained[i].adaptive);
  }
  return picture;
}

std::string setting_text(const session::FinishedRun& recorded, const Trained& trained) {
  return fmt::format(
      "Plans: a gradient of resnet20 on {} after {} steps, errors as published (the sum of the "
      "layers' norms). Training: {}; errors as lgreco has them by itself, unless it says "
      "otherwise.",
      data_of(recorded), recorded.record.steps - 1, cnn_text(trained[0].uniform));
}

}  // namespace

Claim reproduce_lgreco(Workbench& bench) {
  const std::uint64_t seeds = bench.is_quick() ? 1 : 5;
  bench.expect(0, 1 + 2 * seeds * kPairs.size());
  const session::FinishedRun recorded = record_gradients(bench);
  const Families families = read_families(recorded);
  const Trained trained = train_all(bench, seeds);
  Claim claim{.name = "lgreco",
              .rows = {},
              .tables = {plan_table(families, recorded), training_table(trained),
                         training_plans_table(trained)},
              .pictures = {},
              .setting = setting_text(recorded, trained)};
  for (const RecordedLayers& layers : families) claim.rows.push_back(plan_row(layers));
  for (std::size_t i = 0; i < kPairs.size(); ++i) {
    claim.rows.push_back(accuracy_row(trained[i], kPairs[i], bench.is_quick()));
    claim.rows.push_back(bytes_row(trained[i], kPairs[i]));
  }
  claim.rows.push_back(accordion_row(trained[kAccordion], bench.is_quick()));
  claim.rows.push_back(largest_row(trained, bench.is_quick()));
  for (std::size_t i = 0; i < kFamilies.size(); ++i) {
    claim.pictures.push_back(error_picture(families[i], kFamilies[i]));
    claim.pictures.push_back(plan_picture(families[i], kFamilies[i]));
  }
  claim.pictures.push_back(accuracy_picture(trained));
  return claim;
}

}  // namespace gradwire::reproduce
