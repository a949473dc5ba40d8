// gradwire plan: L-GreCo's plan for recorded gradients, with the uniform setting beside it.
#include <fmt/format.h>
#include <fmt/ostream.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>

#include "cli/commands.h"
#include "cli/options.h"
#include "console/format.h"
#include "console/json.h"
#include "console/progress.h"
#include "console/table.h"
#include "gradwire/core/error.h"
#include "gradwire/core/usage_error.h"
#include "gradwire/kernel/sums.h"
#include "gradwire/method/lgreco/layer_plan.h"
#include "record/gradient_files.h"

namespace gradwire::cli {
namespace {

using console::Json;

struct PlanCommandOptions {
  std::vector<std::filesystem::path> gradients;
  std::filesystem::path shapes;
  std::string family = name(planned_families().front());
  std::string uniform;
  std::string range = format_range(kUsualRange);
  std::string error = "norms";
  double alpha = 1;
  bool json = false;
};

std::vector<std::string> family_names() {
  std::vector<std::string> names;
  for (const Family family : planned_families()) names.emplace_back(name(family));
  names.emplace_back("any");
  return names;
}

// As in lgreco(..., range=LOW..HIGH).
SpecRange read_range(const std::string& text) {
  SpecRange range;
  const char* const end = text.data() + text.size();
  const auto [dots, from_error] = std::from_chars(text.data(), end, range.from);
  const bool has_dots = from_error == std::errc() && std::string_view(dots, end).starts_with("..");
  const auto [rest, to_error] = std::from_chars(has_dots ? dots + 2 : end, end, range.to);
  const bool is_good = has_dots && to_error == std::errc() && rest == end && range.from > 0 &&
                       range.from <= range.to && range.to <= 1e6;
  if (!is_good) {
    throw UsageError(fmt::format("--range: '{}' is not a range of factors such as {}", text,
                                 format_range(kUsualRange)));
  }
  return range;
}

Candidates read_candidates(const PlanCommandOptions& options) {
  const SpecRange range = read_range(options.range);
  std::vector<Family> families;
  for (const Family family : planned_families()) {
    if (options.family == name(family) || options.family == "any") families.push_back(family);
  }
  if (options.uniform.empty()) return make_candidates(families, {}, range);
  const Candidate uniform = read_candidate(options.uniform);
  if (options.family != "any" && uniform.family != families.front()) {
    throw UsageError(
        fmt::format("--uniform {} is not of the family {}", options.uniform, options.family));
  }
  return make_candidates(families, uniform, range);
}

// The layers that are planned for, and what they would cost by each candidate.
struct Layers {
  std::vector<MethodTensor> tensors;
  std::vector<LayerCosts> costs;      // means over the files
  std::size_t elements_left_out = 0;  // of one dimension, or small
};

void add_costs(const LayerCosts& one, double share, LayerCosts& sum) {
  sum.by_candidate.resize(one.by_candidate.size());
  // Norms are averaged, as ranks do that plan together.
  const auto add = [share](double squared, double& to) {
    const double norm = std::sqrt(to) + share * std::sqrt(squared);
    to = norm * norm;
  };
  add(one.squared_norm, sum.squared_norm);
  for (std::size_t i = 0; i < one.by_candidate.size(); ++i) {
    if (!one.by_candidate[i]) continue;
    if (!sum.by_candidate[i]) sum.by_candidate[i].emplace();
    add(one.by_candidate[i]->squared_error, sum.by_candidate[i]->squared_error);
    sum.by_candidate[i]->bytes += share * one.by_candidate[i]->bytes;
  }
}

Layers measure(const PlanCommandOptions& options, const Candidates& candidates,
               const console::Console& console) {
  const std::vector<MethodTensor> tensors = record::read_shapes(options.shapes);
  Layers layers;
  for (const MethodTensor& tensor : tensors) {
    if (is_planned(tensor)) {
      layers.tensors.push_back(tensor);
    } else {
      layers.elements_left_out += tensor.elements();
    }
  }
  layers.costs.resize(layers.tensors.size());
  if (layers.tensors.empty()) {
    throw Error(options.shapes.string() +
                ": no tensor has two dimensions and 256 elements, so there is nothing to plan");
  }
  const double share = 1 / static_cast<double>(options.gradients.size());
  console::Progress progress(console, "plan", options.gradients.size() * layers.tensors.size());
  for (const std::filesystem::path& path : options.gradients) {
    const std::vector<float> values = record::read_gradients(path, tensors);
    std::size_t offset = 0;
    std::size_t layer = 0;
    for (const MethodTensor& tensor : tensors) {
      const auto part = std::span<const float>(values).subspan(offset, tensor.elements());
      offset += part.size();
      if (!is_planned(tensor)) continue;
      const double squares = kernel::moments(part).squares;
      if (!std::isfinite(squares)) {
        throw FileError(path.string() + ": tensor '" + tensor.name +
                        "' has values that are not finite");
      }
      const CostOptions cost{.rng = {.seed = 1, .tensor = Rng::tensor_id(tensor.name)}};
      const LayerCosts costs{measure_costs(tensor, part, candidates, cost), squares};
      for (std::size_t i = 0; i < candidates.all.size(); ++i) {
        if (!costs.by_candidate[i] || std::isfinite(costs.by_candidate[i]->squared_error)) continue;
        throw FileError(path.string() + ": tensor '" + tensor.name + "' has values too large for " +
                        candidates.all[i].spec);
      }
      add_costs(costs, share, layers.costs[layer++]);
      progress.step(tensor.name);
    }
  }
  return layers;
}

struct Planned {
  Candidates candidates;
  Layers layers;
  LayerPlan plan;
  double plan_ms = 0;
  LayerPlan by_lag;  // with the default measure of lgreco

  const Candidate& choice(std::size_t layer) const { return candidates.all[plan.choices[layer]]; }
  const CandidateCost& cost(std::size_t layer) const {
    return *layers.costs[layer].by_candidate[plan.choices[layer]];
  }
};

Json to_json(const Planned& planned) {
  Json layers = Json::array();
  for (std::size_t i = 0; i < planned.layers.tensors.size(); ++i) {
    layers.push_back({{"name", planned.layers.tensors[i].name},
                      {"elements", planned.layers.tensors[i].elements()},
                      {"choice", planned.choice(i).spec},
                      {"bytes", planned.cost(i).bytes},
                      {"error", std::sqrt(planned.cost(i).squared_error)},
                      {"norm", std::sqrt(planned.layers.costs[i].squared_norm)}});
  }
  const LayerPlan& plan = planned.plan;
  return {{"layers", layers},
          {"uniform", planned.candidates.all[planned.candidates.uniform].spec},
          {"bytes", plan.bytes},
          {"uniform_bytes", plan.uniform_bytes},
          {"times_smaller", plan.uniform_bytes / plan.bytes},
          {"error", plan.error},
          {"uniform_error", plan.uniform_error},
          {"norm", plan.norm},
          {"exact", plan.is_exact},
          {"fits", plan.fits},
          {"elements_left_out", planned.layers.elements_left_out},
          {"plan_ms", planned.plan_ms}};
}

void print_table(const Planned& planned, const PlanCommandOptions& options,
                 const console::Console& console) {
  const std::string uniform = planned.candidates.all[planned.candidates.uniform].spec;
  console::Table table({{.heading = "layer", .align = console::Table::Align::left},
                        {.heading = "elements"},
                        {.heading = "by", .align = console::Table::Align::left},
                        {.heading = "bytes"},
                        {.heading = "relative\nerror"},
                        {.heading = uniform + "\nbytes"},
                        {.heading = "relative\nerror"}});
  for (std::size_t i = 0; i < planned.layers.tensors.size(); ++i) {
    const LayerCosts& costs = planned.layers.costs[i];
    const CandidateCost& by_uniform =
        *costs.by_candidate[uniform_choice(planned.candidates, costs)];
    const auto relative = [&](const CandidateCost& cost) {
      return console::significant(std::sqrt(cost.squared_error / costs.squared_norm), 3);
    };
    table.add_row({planned.layers.tensors[i].name,
                   console::thousands(planned.layers.tensors[i].elements()), planned.choice(i).spec,
                   console::fixed(planned.cost(i).bytes, 0), relative(planned.cost(i)),
                   console::fixed(by_uniform.bytes, 0), relative(by_uniform)});
  }
  const LayerPlan& plan = planned.plan;
  fmt::print(console.out,
             "{}\n"
             "{} bytes instead of {} by {}: {}.\n"
             "The {} of the layers' errors is {}, of the uniform setting {}.\n"
             "{}"
             "{} elements of one dimension or in small tensors are sent as they are, and are in "
             "neither count.\n"
             "Planned in {} ms; {}.\n",
             table.text(console.columns), console::fixed(plan.bytes, 0),
             console::fixed(plan.uniform_bytes, 0), uniform,
             plan.bytes <= plan.uniform_bytes
                 ? console::significant(plan.uniform_bytes / plan.bytes, 3) + " times smaller"
                 : console::significant(plan.bytes / plan.uniform_bytes, 3) + " times larger",
             options.error == "norms"     ? "sum of norms"
             : options.error == "squares" ? "sum of squares"
                                          : "sum of norms in the long run",
             console::significant(plan.error, 4), console::significant(plan.uniform_error, 4),
             options.error == "lag"
                 ? ""
                 : fmt::format("Training with lgreco uses --error lag by default, which gives {} "
                               "bytes.\n",
                               console::fixed(planned.by_lag.bytes, 0)),
             console::thousands(planned.layers.elements_left_out),
             console::significant(planned.plan_ms, 3),
             plan.is_exact ? "no plan of these candidates is smaller"
                           : "smaller plans may exist, by very little");
}

void run(const PlanCommandOptions& options, const console::Console& console) {
  Planned planned;
  planned.candidates = read_candidates(options);
  planned.layers = measure(options, planned.candidates, console);
  const auto start = std::chrono::steady_clock::now();
  const PlanOptions plan{.measure = options.error == "norms"     ? ErrorMeasure::norms
                                    : options.error == "squares" ? ErrorMeasure::squares
                                                                 : ErrorMeasure::lag,
                         .alpha = options.alpha};
  planned.plan = plan_layers(planned.candidates, planned.layers.costs, plan);
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
  planned.plan_ms = took.count();
  planned.by_lag = plan_layers(planned.candidates, planned.layers.costs,
                               {.measure = ErrorMeasure::lag, .alpha = options.alpha});
  if (options.json) {
    console::print_json(to_json(planned), console);
  } else {
    print_table(planned, options, console);
  }
}

}  // namespace

void add_plan_command(CLI::App& program, const console::Console& console) {
  auto* command = program.add_subcommand(
      "plan", "Plan a setting for each layer from recorded gradients (L-GreCo)");
  auto options = std::make_shared<PlanCommandOptions>();
  command
      ->add_option("--gradients", options->gradients,
                   "A .f32 or .npy file of all tensors; several are averaged")
      ->required()
      ->allow_extra_args(false)
      ->type_name("FILE");
  command
      ->add_option("--shapes", options->shapes, "Names, shapes and offsets of the tensors, as JSON")
      ->required()
      ->type_name("FILE");
  command->add_option("--family", options->family, "The codecs that layers may use")
      ->check(CLI::IsMember(family_names()))
      ->capture_default_str();
  command
      ->add_option(
          "--uniform", options->uniform,
          "Uniform setting that the plan must match [qsgd(bits=4), topk(1%) or powersgd(rank=4)]")
      ->type_name("SPEC");
  command
      ->add_option("--range", options->range,
                   "Range of each layer's parameter, as factors of the uniform setting")
      ->type_name("LOW..HIGH")
      ->capture_default_str();
  command
      ->add_option("--alpha", options->alpha,
                   "Largest error, relative to that of the uniform setting")
      ->check(CLI::Range(1e-6, 1e6))
      ->capture_default_str();
  command
      ->add_option(
          "--error", options->error,
          "Measure of a layer's error: the norm of the error of one step, its square, or the norm "
          "of the error memory in the long run (lag, the default of lgreco)")
      ->check(CLI::IsMember({"norms", "squares", "lag"}))
      ->capture_default_str();
  add_json_option(*command, options->json);
  command->footer(
      "Gradients are recorded by 'gradwire train --record-gradients'.\n"
      "Example:\n"
      "  gradwire plan --gradients run/gradients/step0300_worker0.f32 "
      "--shapes run/gradients/shapes.json --family topk");
  command->callback([options, &console] { run(*options, console); });
}

}  // namespace gradwire::cli
