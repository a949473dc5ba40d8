// gradwire advise: what to use on a given network, from speeds measured here and now.
#include <fmt/format.h>
#include <fmt/ostream.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>

#include "advise/answer.h"
#include "advise/recommended.h"
#include "advise/sample.h"
#include "cli/advise_options.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "console/format.h"
#include "console/json.h"
#include "console/shell_word.h"
#include "console/table.h"
#include "gradwire/core/machine_threads.h"
#include "gradwire/core/usage_error.h"
#include "gradwire/method/parsed_method.h"
#include "train/optimiser.h"

namespace gradwire::cli {
namespace {

using console::Json;

constexpr std::size_t kWorkersMax = 10'000;
constexpr std::size_t kTensorsMax = 1'000'000;

struct AdviseOptions {
  std::string model;
  std::string data;
  std::size_t params = 0;
  std::optional<std::size_t> tensors;
  std::size_t workers = 0;
  std::vector<std::string> bandwidth;
  std::string switch_rate;
  double latency_ms = 0.1;
  std::optional<double> compute_ms;
  std::size_t ranks_per_host = 1;
  std::size_t host_workers = 1;

  // Each with a link of its own.
  std::size_t hosts() const { return workers / ranks_per_host; }
  std::string optimiser = "sgd";
  std::vector<std::string> methods = {};  // empty: contenders()
  advise::ValueOptions values;
  std::size_t rounds = 5;
  bool all = false;
  bool json = false;
};

// Methods that differ much, and those that the documents recommend.
std::vector<std::string> contenders(bool has_moments) {
  std::vector<std::string> specs = {"none",    "fp16",     "qsgd(bits=8)",    "qsgd(bits=4)",
                                    "natural", "ef(sign)", "powersgd(rank=4)"};
  for (const advise::Recommended& each : advise::recommended()) {
    specs.emplace_back(each.method);
    if (has_moments && *each.fewer_bytes != '\0') specs.emplace_back(each.fewer_bytes);
  }
  return specs;
}

std::vector<MethodTensor> make_tensors(const AdviseOptions& options) {
  if (!options.model.empty()) {
    return advise::tensors_of_model(options.model, options.data);
  }
  const std::size_t tensors = options.tensors.value_or(advise::usual_tensors(options.params));
  if (tensors > options.params) {
    throw UsageError(fmt::format("{} parameters do not make {} tensors", options.params, tensors));
  }
  return advise::tensors_of_size(options.params, tensors);
}

std::vector<double> rates_of(const AdviseOptions& options) {
  std::vector<double> rates;
  for (const std::string& rate : options.bandwidth) rates.push_back(parse_bandwidth(rate));
  return rates;
}

double switch_rate_of(const AdviseOptions& options) {
  return options.switch_rate.empty() ? 0 : parse_bandwidth(options.switch_rate, "--switch");
}

void check_options(const AdviseOptions& options) {
  if (options.model.empty() == (options.params == 0)) {
    throw UsageError("give either --model or --params: what is exchanged");
  }
  if (options.host_workers > options.workers) {
    throw UsageError(fmt::format("--host-workers: {} of {} workers cannot share a machine",
                                 options.host_workers, options.workers));
  }
  if (options.workers % options.ranks_per_host != 0 ||
      (options.ranks_per_host > 1 && options.hosts() < 2)) {
    throw UsageError(
        fmt::format("--ranks-per-host {}: {} workers do not fill two or more such hosts",
                    options.ranks_per_host, options.workers));
  }
  const std::size_t rates = rates_of(options).size();
  if (rates > 1 && rates != options.hosts()) {
    throw UsageError(
        fmt::format("--bandwidth: {} rates for {} {}: give one for all, or one for each", rates,
                    options.hosts(), options.ranks_per_host > 1 ? "hosts" : "workers"));
  }
  switch_rate_of(options);
  train::parse_optimiser(options.optimiser);
  for (const std::string& method : options.methods) parse_method(method);
  if (!options.model.empty()) advise::check_network(options.model);
}

advise::Question make_question(const AdviseOptions& options) {
  const bool has_moments = train::parse_optimiser(options.optimiser).has_moments();
  advise::Question question{
      .tensors = make_tensors(options),
      .workers = options.workers,
      .ranks_per_host = options.ranks_per_host,
      .host_workers = options.host_workers,
      .bits_per_second = rates_of(options),
      .switch_bits_per_second = switch_rate_of(options),
      .latency_seconds = 1e-3 * options.latency_ms,
      .methods = options.methods.empty() ? contenders(has_moments) : options.methods,
      .has_moments = has_moments,
      .values = options.values,
      .rounds = options.rounds};
  if (options.compute_ms) question.compute_seconds = 1e-3 * *options.compute_ms;
  return question;
}

Json milliseconds_or_null(const std::optional<double>& seconds) {
  return seconds ? Json(1e3 * *seconds) : Json();
}

Json to_json(const advise::Candidate& candidate, const advise::Answer& answer) {
  const advise::MethodSpeed& speed = candidate.speed;
  Json topologies = Json::array();
  for (std::size_t i = 0; i < candidate.predictions.topologies.size(); ++i) {
    const advise::Prediction& prediction = candidate.predictions.topologies[i];
    topologies.push_back(
        {{"topology", name(prediction.topology)},
         {"step_ms", milliseconds_or_null(prediction.step_seconds)},
         {"exchange_ms", 1e3 * prediction.exchange_seconds},
         {"speedup", answer.speedup(prediction)},
         {"bytes_sent_per_worker", prediction.bytes_sent},
         {"bytes_sent_by_server",
          prediction.server_bytes_sent > 0 ? Json(prediction.server_bytes_sent) : Json()},
         {"relative_error", prediction.relative_error},
         {"is_best", i == candidate.predictions.best}});
  }
  Json codec;
  if (speed.codec) {
    codec = {{"measure_ns", 1e9 * speed.codec->measure},
             {"encode_ns", 1e9 * speed.codec->encode},
             {"decode_ns", 1e9 * speed.codec->decode},
             {"decode_add_ns", 1e9 * speed.codec->decode_add},
             {"bits_per_element", 8 * speed.codec->payload_bytes}};
  }
  return {
      {"method", speed.method},         {"spec", speed.spec}, {"is_unbiased", speed.is_unbiased},
      {"has_memory", speed.has_memory}, {"codec", codec},     {"topologies", topologies}};
}

Json to_json(const advise::Answer& answer, const AdviseOptions& options) {
  const advise::Scenario& scenario = answer.scenario;
  Json document = {{"model", options.model.empty() ? Json() : Json(options.model)},
                   {"elements", scenario.elements()},
                   {"tensors", scenario.tensors.size()},
                   {"workers", options.workers},
                   {"ranks_per_host", scenario.ranks_per_host},
                   {"bandwidth_bits_per_second", scenario.bits_per_second},
                   {"latency_ms", options.latency_ms},
                   {"compute_ms", milliseconds_or_null(scenario.compute_seconds)},
                   {"host_workers", answer.load.workers},
                   {"cores", answer.load.cores},
                   {"socket_byte_ns", 1e9 * scenario.socket_byte_seconds},
                   {"input", answer.source},
                   {"elements_measured", answer.elements_measured},
                   {"optimiser", options.optimiser},
                   {"noise", answer.noise()},
                   {"groups", scenario.groups()},
                   {"baseline", Json()},
                   {"methods", Json::array()},
                   {"local_steps", Json::array()}};
  if (!scenario.link_bits_per_second.empty()) {
    document["links_bits_per_second"] = scenario.link_bits_per_second;
  }
  if (scenario.switch_bits_per_second > 0) {
    document["switch_bits_per_second"] = scenario.switch_bits_per_second;
  }
  if (answer.candidates.empty()) {
    document["advice"] = {{"compress", false},
                          {"method", advise::baseline_spec()},
                          {"topology", Json()},
                          {"speedup", 1},
                          {"gentler", Json()},
                          {"later", Json()},
                          {"text", advise::words_for_one_worker()}};
    return document;
  }
  document["baseline"] = {{"method", advise::baseline_spec()},
                          {"topology", name(answer.baseline().topology)},
                          {"step_ms", milliseconds_or_null(answer.baseline().step_seconds)},
                          {"exchange_ms", 1e3 * answer.baseline().exchange_seconds}};
  for (const advise::Candidate& candidate : answer.candidates) {
    document["methods"].push_back(to_json(candidate, answer));
  }
  for (const advise::RoundLength& round : advise::round_lengths(answer.context())) {
    document["local_steps"].push_back({{"method", round.spec}, {"every", round.every}});
  }
  const advise::Candidate& chosen = answer.candidates[answer.advice.candidate];
  const auto method_of = [&](std::optional<std::size_t> candidate) {
    return candidate ? Json(answer.candidates[*candidate].speed.method) : Json();
  };
  document["advice"] = {{"compress", answer.advice.compresses},
                        {"method", chosen.speed.method},
                        {"topology", name(chosen.best().topology)},
                        {"speedup", answer.speedup(chosen.best())},
                        {"gentler", method_of(answer.advice.gentler)},
                        {"later", method_of(answer.advice.later)},
                        {"text", advise::advice_words(answer.advice, answer.context())}};
  return document;
}

// "0.29 u"
std::string error_text(const advise::MethodSpeed& speed, const advise::Prediction& prediction) {
  if (prediction.relative_error == 0) return "0   ";
  if (!std::isfinite(prediction.relative_error)) return "all of it   ";
  return console::significant(prediction.relative_error, 2) + (speed.is_unbiased ? " u" : "  ") +
         (speed.has_memory ? "m" : " ");
}

// A row of the table: a method on a topology.
struct Way {
  const advise::Candidate* candidate;
  const advise::Prediction* prediction;
};

// The best topology of each method, or all of them. The fastest first.
std::vector<Way> ways_of(const advise::Answer& answer, bool all) {
  std::vector<Way> ways;
  for (const advise::Candidate& candidate : answer.candidates) {
    for (const advise::Prediction& prediction : candidate.predictions.topologies) {
      if (all || &prediction == &candidate.best()) ways.push_back({&candidate, &prediction});
    }
  }
  std::ranges::stable_sort(ways, {}, [](const Way& way) { return way.prediction->seconds(); });
  return ways;
}

void print_table(const advise::Answer& answer, const AdviseOptions& options,
                 const console::Console& console) {
  std::vector<console::Table::Column> columns = {
      {.heading = "method", .align = console::Table::Align::left},
      {.heading = "topology", .align = console::Table::Align::left},
      {.heading = "exchange\nms"},
      {.heading = "speed-up"},
      {.heading = options.ranks_per_host > 1 ? "MB sent\nper host" : "MB sent\nper worker"},
      {.heading = "error   "}};
  const bool has_steps = answer.scenario.compute_seconds.has_value();
  const std::vector<Way> ways = ways_of(answer, options.all);
  const bool has_server = std::ranges::any_of(
      ways, [](const Way& way) { return way.prediction->server_bytes_sent > 0; });
  if (has_server) columns.insert(columns.end() - 1, {.heading = "MB sent\nby server"});
  if (has_steps) columns.insert(columns.begin() + 2, {.heading = "step\nms"});
  console::Table table(columns);
  for (const Way& way : ways) {
    const advise::Prediction& prediction = *way.prediction;
    std::vector<std::string> cells = {way.candidate->speed.method,
                                      name(prediction.topology),
                                      console::fixed(1e3 * prediction.exchange_seconds, 1),
                                      console::fixed(answer.speedup(prediction), 2),
                                      console::fixed(1e-6 * prediction.bytes_sent, 3),
                                      error_text(way.candidate->speed, prediction)};
    if (has_server) {
      const double bytes = prediction.server_bytes_sent;
      cells.insert(cells.end() - 1, bytes > 0 ? console::fixed(1e-6 * bytes, 3) : "");
    }
    if (has_steps) cells.insert(cells.begin() + 2, console::fixed(1e3 * prediction.seconds(), 1));
    table.add_row(std::move(cells));
  }
  fmt::print(console.out, "{}\n", table.text(console.columns));
}

// The command that trains as advised.
std::string command_of(const advise::Answer& answer, const AdviseOptions& options) {
  const advise::Candidate& chosen = answer.candidates[answer.advice.candidate];
  const bool has_hosts = options.ranks_per_host > 1;
  std::string command = has_hosts
                            ? fmt::format("gradwire run --ranks-per-host {} -H HOSTS -- train",
                                          options.ranks_per_host)
                            : "gradwire train";
  if (!options.model.empty()) command += " --model " + console::shell_word(options.model);
  if (!options.data.empty()) command += " --data " + console::shell_word(options.data);
  if (options.optimiser != "sgd") {
    command += " --optimiser " + console::shell_word(options.optimiser);
  }
  if (!has_hosts) command += fmt::format(" --workers {}", options.workers);
  command += fmt::format(" --topology {} --method {}", name(chosen.best().topology),
                         console::shell_word(chosen.speed.method));
  const TopologyTraits& traits = traits_of(chosen.best().topology);
  if (options.bandwidth.size() > 1 && traits.has_owners && traits.shares_evenly) {
    command += fmt::format(" --links {}", fmt::join(options.bandwidth, ","));
  }
  return command;
}

// Measured speeds are those of a busy machine then.
bool warn_if_busy(const console::Console& console) {
  double load = 0;
  if (getloadavg(&load, 1) != 1 || load <= 0.5 + 0.25 * static_cast<double>(machine_threads())) {
    return false;
  }
  fmt::print(console.err,
             "gradwire: this machine is busy (load {:.1f} on {} cores), so the measured speeds are "
             "too low. Repeat this when it is quiet\n",
             load, machine_threads());
  return true;
}

void warn_if_noisy(const advise::Answer& answer, const console::Console& console) {
  constexpr double kNoise = 0.1;
  if (answer.noise() <= kNoise) return;
  fmt::print(
      console.err,
      "gradwire: the measured times vary by {:.0f}%, so another run may give another answer. "
      "Stop other programs, or give --rounds 50\n",
      100 * answer.noise());
}

void print_answer(const advise::Answer& answer, const AdviseOptions& options,
                  const console::Console& console) {
  if (answer.candidates.empty()) {
    fmt::print(console.out, "{}", advise::words_for_one_worker());
    return;
  }
  const advise::WordsContext context = answer.context();
  fmt::print(console.out, "{}\n  {}\n\n", advise::advice_words(answer.advice, context),
             command_of(answer, options));
  if (const auto rounds = advise::round_lengths(context); !rounds.empty()) {
    fmt::print(console.out, "{}\n", advise::round_words(rounds));
  }
  print_table(answer, options, console);
  fmt::print(console.out,
             "{} parameters in {} tensor{}, {} workers. Speed-up: against none on its fastest\n"
             "topology. MB sent: in one step. u: unbiased, m: with a memory.{}\n\n{}",
             console::thousands(answer.scenario.elements()),
             console::thousands(answer.scenario.tensors.size()),
             answer.scenario.tensors.size() == 1 ? "" : "s", console::thousands(options.workers),
             options.all ? "" : " --all shows all topologies.", advise::assumption_words(context));
}

void run(const AdviseOptions& options, const console::Console& console) {
  check_options(options);
  for (const std::string& method : options.methods) warn_of_share(method, console);
  const bool is_busy = warn_if_busy(console);
  const advise::Answer answer = advise::find_answer(make_question(options), console);
  if (!is_busy) warn_if_noisy(answer, console);
  if (options.json) {
    console::print_json(to_json(answer, options), console);
  } else {
    print_answer(answer, options, console);
  }
}

// What is exchanged.
void add_model_options(CLI::App& app, AdviseOptions& options) {
  auto* model = app.add_option("--model", options.model,
                               "A network of train: resnet20, 'transformer(layers=6)'")
                    ->type_name("M");
  app.add_option("--data", options.data,
                 "Data set, if the size of the network depends on it [as for train]")
      ->needs(model)
      ->type_name("D");
  auto* params = app.add_option("--params", options.params, "Parameters, instead of a model")
                     ->transform(whole_number(1, kElementsMax))
                     ->excludes(model)
                     ->type_name("N");
  app.add_option("--tensors", options.tensors,
                 "Number of tensors, of very different sizes [as many as networks have]")
      ->transform(whole_number(1, kTensorsMax))
      ->needs(params)
      ->type_name("N");
}

// Where it is exchanged.
void add_place_options(CLI::App& app, AdviseOptions& options) {
  app.add_option("--workers", options.workers, "Number of workers")
      ->transform(whole_number(1, kWorkersMax))
      ->required()
      ->type_name("N");
  app.add_option(
         "--bandwidth", options.bandwidth,
         "Rate of a worker's link in each direction: 100Mbit, 1Gbit, 1e9 (bits per second). "
         "If links differ, one rate for each worker: 1Gbit,1Gbit,100Mbit")
      ->allow_extra_args(false)
      ->delimiter(',')
      ->required()
      ->type_name("RATE[,...]");
  app.add_option("--switch", options.switch_rate,
                 "Rate of the switch for all links together [it keeps up]")
      ->type_name("RATE");
  app.add_option("--latency-ms", options.latency_ms, "One-way latency between two workers")
      ->check(number_between(0, 60'000))
      ->type_name("T")
      ->capture_default_str();
  app.add_option(
         "--compute-ms", options.compute_ms,
         "Time of the computation of a step, forward and backward; without it only the exchange is "
         "compared")
      ->check(number_between(0, 1e9))
      ->type_name("T");
  auto* per_host = add_count_option(
      app, "--ranks-per-host", options.ranks_per_host, kWorkersMax,
      "Workers on each host, which first add up in shared memory: rates are then those of hosts");
  add_count_option(app, "--host-workers", options.host_workers, kWorkersMax,
                   "Workers that share this machine's cores, each with a link of its own")
      ->excludes(per_host);
}

void add_measurement_options(CLI::App& app, AdviseOptions& options) {
  app.add_option("--optimiser,--optimizer", options.optimiser,
                 "The optimiser, as for train: methods that do not suit adam and adamw are not "
                 "recommended for them")
      ->type_name("SPEC")
      ->capture_default_str();
  app.add_option(
         "--methods", options.methods,
         "A method to compare; repeat the option, or separate specs with ';' [none, and some that "
         "differ much]")
      ->allow_extra_args(false)
      ->delimiter(';')
      ->transform(trimmed())
      ->type_name("SPEC");
  auto* generate =
      app.add_option("--generate", options.values.generate, "Distribution of the gradients' values")
          ->check(CLI::IsMember({"gradients", "gaussian"}))
          ->capture_default_str();
  app.add_option("--gradients,--input", options.values.input,
                 "Judge errors on your own gradients, from a .f32 or .npy file")
      ->excludes(generate)
      ->type_name("FILE");
  add_count_option(app, "--rounds", options.rounds, 1'000,
                   "Least number of rounds; more until the median is stable");
  app.add_flag("--all", options.all, "Show all topologies of each method, not only the fastest");
  add_json_option(app, options.json);
}

}  // namespace

void add_advise_command(CLI::App& program, const console::Console& console) {
  auto* app = program.add_subcommand(
      "advise", "Recommend a method for a network link, with the expected speed-up");
  auto options = std::make_shared<AdviseOptions>();
  add_model_options(*app, *options);
  add_place_options(*app, *options);
  add_measurement_options(*app, *options);
  app->footer(
      "Predicts steps by method and topology, from speeds that it measures on this machine: some "
      "seconds.\n"
      "Examples:\n"
      "  gradwire advise --model resnet20 --workers 8 --bandwidth 1Gbit --compute-ms 120\n"
      "  gradwire advise --params 25M --workers 64 --bandwidth 10Gbit --latency-ms 0.05\n"
      "  gradwire advise --params 25M --workers 3 --bandwidth 1Gbit,1Gbit,100Mbit");
  app->callback([options, &console] { run(*options, console); });
}

}  // namespace gradwire::cli
