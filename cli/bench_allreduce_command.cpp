// gradwire bench allreduce: compressed means between workers, beside the transport's own sum.
#include <fmt/format.h>
#include <fmt/ostream.h>

#include <CLI/CLI.hpp>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <string_view>

#include "bench/allreduce.h"
#include "bench/gradients.h"
#include "bench/input.h"
#include "bench/page_array.h"
#include "bench/tensor_list.h"
#include "cli/bench_commands.h"
#include "cli/commands.h"
#include "cli/given_arguments.h"
#include "cli/options.h"
#include "cli/worker_options.h"
#include "console/format.h"
#include "console/json.h"
#include "console/table.h"
#include "gradwire/core/usage_error.h"
#include "gradwire/method/parsed_method.h"
#include "launch/launch.h"
#include "launch/workers.h"

namespace gradwire::cli {
namespace {

using console::Json;

constexpr std::size_t kTensorsMax = 1'000'000;
constexpr std::string_view kRankMark = "{rank}";

struct BenchAllreduceCommand {
  std::vector<std::string> methods = {"none",    "qsgd(bits=8)",      "qsgd(bits=4)",
                                      "natural", "natural | entropy", "topk(1%)"};
  std::size_t elements = 16'777'216;
  std::size_t tensors = 1;
  std::string input;  // a file; empty: generate
  launch::WorkerOptions workers;
  bench::AllreduceOptions bench;
  bool json = false;

  const std::string& source() const {
    static const std::string generated = "gaussian";
    return input.empty() ? generated : input;
  }
};

// What all ranks came to.
struct Measurement {
  std::size_t elements = 0;
  bench::AllreduceFigures figures;
};

void check_tensors(std::size_t tensors, std::size_t elements) {
  if (tensors <= elements) return;
  throw UsageError(fmt::format("{} elements do not make {} tensors", elements, tensors));
}

// The values of one rank. Every rank has others, and always the same ones for a seed.
bench::PageArray<float> make_values(const BenchAllreduceCommand& command, std::size_t rank) {
  if (!command.input.empty()) {
    std::string path = command.input;
    if (const std::size_t mark = path.find(kRankMark); mark != std::string::npos) {
      path.replace(mark, kRankMark.size(), std::to_string(rank));
    }
    return bench::read_input(path);
  }
  bench::PageArray<float> values(command.elements);
  bench::fill_gaussian({.seed = command.bench.seed,
                        .rank = static_cast<std::uint32_t>(rank),
                        .purpose = Purpose::data},
                       values.span());
  return values;
}

// One rank's work.
Measurement measure(Communicator& communicator, const BenchAllreduceCommand& command,
                    const std::vector<std::string>& methods, const console::Console& console) {
  const bench::PageArray<float> values = make_values(command, communicator.rank());
  check_tensors(command.tensors, values.span().size());
  const auto tensors =
      bench::as_matrices(bench::model_tensors(values.span().size(), command.tensors));
  const auto gloo = bench::GlooAllreduce::connect(communicator);
  std::optional<console::Progress> progress;
  if (communicator.rank() == 0) {
    progress.emplace(console, "bench allreduce",
                     bench::allreduce_steps(methods.size(), command.bench.rounds, gloo != nullptr));
  }
  return {.elements = values.span().size(),
          .figures =
              bench::measure_allreduce(communicator, values.span(), tensors, methods, command.bench,
                                       gloo.get(), progress ? &*progress : nullptr)};
}

std::string sum_name(std::string_view who) { return fmt::format("{} fp32 allreduce", who); }

Json to_json(std::string_view name, const bench::AllreduceFigures::Time& time) {
  return {{"name", name}, {"ms", time.ms}, {"ms_min", time.ms_min}};
}

Json to_json(const Measurement& measurement, const BenchAllreduceCommand& command,
             const std::vector<std::string>& methods, const launch::Placement& placement) {
  Json results = Json::array();
  for (std::size_t m = 0; m < methods.size(); ++m) {
    const bench::MethodFigures& figures = measurement.figures.methods[m];
    results.push_back({{"method", command.methods[m]},
                       {"spec", methods[m]},
                       {"topology", name(figures.topology)},
                       {"transport", placement.transport->name},
                       {"workers", placement.size},
                       {"ms", figures.ms},
                       {"ms_min", figures.ms_min},
                       {"ratio", figures.ratio},
                       {"bytes_sent_per_rank", figures.bytes_sent},
                       {"relative_error", figures.relative_error},
                       {"encode_ms", figures.encode_ms},
                       {"exchange_ms", figures.exchange_ms},
                       {"decode_ms", figures.decode_ms}});
  }
  const bench::AllreduceFigures& all = measurement.figures;
  const std::string own_name = sum_name(placement.transport->name);
  return {{"baseline", to_json(all.gloo ? sum_name("gloo") : own_name, all.baseline())},
          {"sum", to_json(own_name, all.sum)},
          {"scaling", to_json("in-place scaling of the array, by all workers at once", all.scale)},
          {"elements", measurement.elements},
          {"tensors", command.tensors},
          {"input", command.source()},
          {"rounds", command.bench.rounds},
          {"results", results}};
}

void print_table(const Measurement& measurement, const BenchAllreduceCommand& command,
                 const launch::Placement& placement, const console::Console& console) {
  console::Table table({{.heading = "method", .align = console::Table::Align::left},
                        {.heading = "topology", .align = console::Table::Align::left},
                        {.heading = "ms"},
                        {.heading = "least\nms"},
                        {.heading = "ratio"},
                        {.heading = "MB sent\nper rank"},
                        {.heading = "relative\nerror"},
                        {.heading = "encode\nms"},
                        {.heading = "exchange\nms"},
                        {.heading = "decode\nms"}});
  const bench::AllreduceFigures& all = measurement.figures;
  const auto add_yardstick = [&](std::string_view name, const bench::AllreduceFigures::Time& time) {
    table.add_row({std::string(name), "", console::fixed(time.ms, 1),
                   console::fixed(time.ms_min, 1), console::fixed(time.ms / all.baseline().ms, 2),
                   "", "", "", "", ""});
  };
  if (all.gloo) add_yardstick(sum_name("gloo"), *all.gloo);
  add_yardstick(sum_name(placement.transport->name), all.sum);
  add_yardstick("scaling in place", all.scale);
  for (std::size_t m = 0; m < all.methods.size(); ++m) {
    const bench::MethodFigures& figures = all.methods[m];
    table.add_row({command.methods[m], name(figures.topology), console::fixed(figures.ms, 1),
                   console::fixed(figures.ms_min, 1), console::fixed(figures.ratio, 2),
                   console::fixed(static_cast<double>(figures.bytes_sent) * 1e-6, 3),
                   console::significant(figures.relative_error, 3),
                   console::fixed(figures.encode_ms, 1), console::fixed(figures.exchange_ms, 1),
                   console::fixed(figures.decode_ms, 1)});
  }
  const auto plural = [](std::size_t count) { return count == 1 ? "" : "s"; };
  const std::size_t rounds = command.bench.rounds;
  fmt::print(console.out,
             "{}\n"
             "{} elements ({}) in {} tensor{}, {} worker{} ({}), median of {} round{}.\n"
             "The ratio is to the time of the first line in the same round;\n"
             "encode, exchange and decode are rank 0's, and the bytes those of the rank that sends "
             "most.\n",
             table.text(console.columns), console::thousands(measurement.elements),
             command.source(), command.tensors, plural(command.tensors), placement.size,
             plural(placement.size), placement.transport->name, rounds, plural(rounds));
}

void run(BenchAllreduceCommand command, const CLI::App& parsed, const console::Console& console) {
  std::vector<std::string> methods;
  for (const std::string& spec : command.methods) methods.push_back(parse_method(spec).spec);
  const launch::Placement placement = launch::find_placement(command.workers);
  if (placement.reports()) {
    for (const std::string& spec : command.methods) warn_of_share(spec, console);
  }
  if (command.input.empty()) check_tensors(command.tensors, command.elements);
  if (placement.role == launch::Role::starter) {
    launch::launch_workers({.arguments = given_arguments(parsed), .workers = placement.size});
    return;
  }

  command.bench.topology = command.workers.topology();
  command.bench.server = command.workers.server_rank();
  command.bench.server_contributes = !command.workers.dedicated_server;
  Measurement measurement;
  launch::run_workers(command.workers, placement, command.bench.seed,
                      [&](Communicator& communicator) {
                        Measurement own = measure(communicator, command, methods, console);
                        if (communicator.rank() == 0) measurement = std::move(own);
                      });
  if (!placement.reports()) return;
  if (command.json) {
    console::print_json(to_json(measurement, command, methods, placement), console);
  } else {
    print_table(measurement, command, placement, console);
  }
}

// What is measured.
void add_work_options(CLI::App& app, BenchAllreduceCommand& command) {
  app.add_option(
         "--method", command.methods,
         "A codec or a method, see 'gradwire methods'; repeat the option, or separate specs with "
         "';'")
      ->allow_extra_args(false)
      ->delimiter(';')
      ->transform(trimmed())
      ->type_name("SPEC");
  auto* elements = add_count_option(app, "--elements", command.elements, kElementsMax,
                                    "Elements of each worker's gradient");
  app.add_option(
         "--input", command.input,
         "Read the values from a .f32 or .npy file; {rank} in its name becomes the worker's rank")
      ->excludes(elements)
      ->type_name("FILE");
  add_count_option(app, "--tensors", command.tensors, kTensorsMax,
                   "Tensors of very different sizes that share the elements");
  app.add_option("--seed", command.bench.seed, "Seed of the elements and of all rounding")
      ->transform(whole_number(0, std::numeric_limits<std::uint64_t>::max()))
      ->type_name("N")
      ->capture_default_str();
  add_count_option(app, "--rounds", command.bench.rounds, kRoundsMax,
                   "Number of rounds; results are their median");
  add_count_option(app, "--segment", command.bench.segment_elements_max, kElementsMax,
                   "Elements in flight at once, roughly");
}

}  // namespace

void add_bench_allreduce_command(CLI::App& bench, const console::Console& console) {
  auto* app = bench.add_subcommand(
      "allreduce", "Time, bytes and error of compressed means, compared with an fp32 all-reduce");
  auto command = std::make_shared<BenchAllreduceCommand>();
  add_work_options(*app, *command);
  add_worker_options(*app, command->workers);
  add_levels_option(*app, command->workers);
  add_json_option(*app, command->json);
  app->footer(
      "Example:\n"
      "  gradwire bench allreduce --method 'qsgd(bits=4)' --workers 4 --transport tcp\n"
      "  mpirun -n 4 gradwire bench allreduce --method 'ef(topk(1%))'");
  app->callback([command, app, &console] { run(*command, *app, console); });
}

}  // namespace gradwire::cli
