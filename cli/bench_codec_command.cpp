// gradwire bench codec: speed, size and error of codecs.
#include <fmt/format.h>
#include <fmt/ostream.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>

#include "bench/codecs.h"
#include "bench/gradients.h"
#include "bench/input.h"
#include "bench/page_array.h"
#include "cli/bench_commands.h"
#include "cli/options.h"
#include "console/format.h"
#include "console/json.h"
#include "console/table.h"
#include "gradwire/kernel/target.h"

namespace gradwire::cli {
namespace {

using console::Json;

struct BenchCodecOptions {
  std::vector<std::string> codecs = {"natural",
                                     "natural(bits=8)",
                                     "natural_dither(levels=7)",
                                     "qsgd(bits=8)",
                                     "qsgd(bits=4)",
                                     "qsgd(bits=2)",
                                     "terngrad",
                                     "sign",
                                     "fp16",
                                     "bf16",
                                     "twobit",
                                     "topk(1%)",
                                     "topk(1%, chunk=4096)",
                                     "topk(1%, chunk=4096) | twobit",
                                     "randk(1%)",
                                     "natural | entropy",
                                     "qsgd(bits=4) | entropy",
                                     "topk(1%) | natural | entropy"};
  std::size_t elements = 16'777'216;
  std::string input;  // a file; empty: generate
  std::string generate = "gaussian";
  bench::CodecsOptions bench;
  bool json = false;

  const std::string& source() const { return input.empty() ? generate : input; }
};

bench::PageArray<float> make_tensor(const BenchCodecOptions& options) {
  if (!options.input.empty()) return bench::read_input(options.input);
  bench::PageArray<float> values(options.elements);
  const Rng rng{.seed = 1, .purpose = Purpose::data};
  if (options.generate == "gradients") {
    bench::fill_gradients(rng, values.span());
  } else {
    bench::fill_gaussian(rng, values.span());
  }
  return values;
}

Json to_json(const bench::CodecsFigures& figures, std::size_t elements,
             const BenchCodecOptions& options) {
  Json codecs = Json::array();
  for (const bench::CodecFigures& codec : figures.codecs) {
    codecs.push_back({{"spec", codec.spec},
                      {"encode_gbps", codec.encode.gbps},
                      {"decode_gbps", codec.decode.gbps},
                      {"decode_add_gbps", codec.decode_add.gbps},
                      {"encode_ratio", codec.encode.memcpy_ratio},
                      {"decode_ratio", codec.decode.memcpy_ratio},
                      {"decode_add_ratio", codec.decode_add.memcpy_ratio},
                      {"bits_per_element", codec.bits_per_element},
                      {"relative_error", codec.relative_error}});
  }
  return {{"target", figures.target},       {"memcpy_gbps", figures.memcpy_gbps},
          {"read_gbps", figures.read_gbps}, {"threads", options.bench.threads},
          {"elements", elements},           {"input", options.source()},
          {"rounds", options.bench.rounds}, {"codecs", codecs}};
}

void print_table(const bench::CodecsFigures& figures, std::size_t elements,
                 const BenchCodecOptions& options, const console::Console& console) {
  const auto text = [](const bench::Speed& speed) {
    return fmt::format("{:.2f} {:>7.2f}", speed.gbps, speed.memcpy_ratio);
  };
  console::Table table({{.heading = "codec", .align = console::Table::Align::left},
                        {.heading = "bits/\nelement"},
                        {.heading = "times\nsmaller"},
                        {.heading = "relative\nerror"},
                        {.heading = "encode\nGB/s /memcpy"},
                        {.heading = "decode\nGB/s /memcpy"},
                        {.heading = "decode_add\nGB/s /memcpy"}});
  for (std::size_t c = 0; c < figures.codecs.size(); ++c) {
    const bench::CodecFigures& codec = figures.codecs[c];
    table.add_row({options.codecs[c], console::fixed(codec.bits_per_element, 3),
                   console::fixed(32 / codec.bits_per_element, 1),
                   console::significant(codec.relative_error, 3), text(codec.encode),
                   text(codec.decode), text(codec.decode_add)});
  }
  const std::size_t threads = options.bench.threads;
  const std::size_t rounds = options.bench.rounds;
  fmt::print(
      console.out,
      "{}\n"
      "{} elements ({}), target {}, {} thread{}, median of {} round{}.\n"
      "Speeds are GB of floats in a second, and their ratio to memcpy, which runs at {:.2f} GB/s\n"
      "here; reading alone runs at {:.2f} GB/s.\n",
      table.text(console.columns), console::thousands(elements), options.source(), figures.target,
      threads, threads == 1 ? "" : "s", rounds, rounds == 1 ? "" : "s", figures.memcpy_gbps,
      figures.read_gbps);
}

void run(const BenchCodecOptions& options, const console::Console& console) {
  bench::Codecs codecs;
  for (const std::string& spec : options.codecs) {
    codecs.push_back(make_codec(spec));
    warn_of_share(spec, console);
  }
  warn_of_threads(options.bench.threads, "for one tensor", console);
  const bench::PageArray<float> tensor = make_tensor(options);
  const bench::CodecsFigures figures = [&] {
    console::Progress progress(console, "bench codec", bench::codecs_steps(codecs, options.bench));
    return bench::measure_codecs(tensor.span(), codecs, options.bench, progress);
  }();
  if (options.json) {
    console::print_json(to_json(figures, tensor.span().size(), options), console);
  } else {
    print_table(figures, tensor.span().size(), options, console);
  }
}

}  // namespace

void add_bench_codec_command(CLI::App& bench, const console::Console& console) {
  auto* command =
      bench.add_subcommand("codec", "Speed, size and error of codecs, compared with memcpy");
  auto options = std::make_shared<BenchCodecOptions>();
  command
      ->add_option("--codec", options->codecs,
                   "A codec to measure; repeat the option, or separate specs with ';'")
      ->allow_extra_args(false)
      ->delimiter(';')
      ->transform(trimmed())
      ->type_name("SPEC");
  auto* elements = add_count_option(*command, "--elements", options->elements, kElementsMax,
                                    "Elements of the tensor");
  auto* generate =
      command->add_option("--generate", options->generate, "Distribution of the tensor's values")
          ->check(CLI::IsMember({"gaussian", "gradients"}))
          ->capture_default_str();
  command->add_option("--input", options->input, "Take the tensor from a .f32 or .npy file")
      ->excludes(elements)
      ->excludes(generate)
      ->type_name("FILE");
  add_threads_option(*command, options->bench.threads);
  command
      ->add_option(
          "--target", options->bench.target,
          "Hold the kernels to one of the machine's instruction sets: " + kernel::target_list())
      ->check([](const std::string& name) -> std::string {
        const std::string list = ", " + kernel::target_list() + ",";
        if (list.find(", " + name + ",") != std::string::npos) return "";
        return fmt::format("'{}' is not an instruction set of this machine: {}", name,
                           kernel::target_list());
      })
      ->type_name("NAME");
  add_count_option(*command, "--rounds", options->bench.rounds, kRoundsMax,
                   "Number of rounds; results are their median");
  add_json_option(*command, options->json);
  command->footer(
      "Example:\n"
      "  gradwire bench codec --codec natural --codec 'topk(1%) | natural' --generate gradients");
  command->callback([options, &console] { run(*options, console); });
}

}  // namespace gradwire::cli
