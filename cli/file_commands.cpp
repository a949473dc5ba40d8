// gradwire encode and decode: .f32 or .npy to .gw and back.
#include <fmt/format.h>
#include <fmt/ostream.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>

#include "cli/commands.h"
#include "cli/options.h"
#include "console/format.h"
#include "console/json.h"
#include "gradwire/codec/codec.h"
#include "gradwire/core/machine_threads.h"
#include "gradwire/core/usage_error.h"
#include "gradwire/file/gw_file.h"
#include "gradwire/file/tensor_file.h"

namespace gradwire::cli {
namespace {

namespace fs = std::filesystem;

struct FileOptions {
  std::string input;
  std::string output;
  std::size_t threads = machine_threads();
  bool json = false;
  std::string codec;       // encode only
  std::uint64_t seed = 0;  // encode only
};

void refuse_same_file(const FileOptions& options) {
  std::error_code absent;  // then they are not the same
  if (options.input == options.output || fs::equivalent(options.input, options.output, absent)) {
    throw UsageError(options.output + ": is both IN and OUT: give OUT another name");
  }
}

void refuse_other_than_gw(const std::string& output) {
  if (fs::path(output).extension() == ".gw") return;
  throw UsageError(output + ": encode writes .gw files: give OUT that ending");
}

// What was done, and how many bytes went in and came out. A tensor counts as its floats alone.
struct Summary {
  const char* verb;
  std::string spec;
  std::uint64_t elements;
  std::uint64_t bytes_in;
  std::uint64_t bytes_out;
  double ratio;  // of the floats to the .gw file
};

void report(const Summary& summary, const FileOptions& options, const console::Console& console) {
  fmt::print(console.err, "{} {} with {}: {} bytes in, {} bytes out, ratio {}\n", summary.verb,
             options.input, summary.spec, console::thousands(summary.bytes_in),
             console::thousands(summary.bytes_out), console::fixed(summary.ratio, 2));
  if (!options.json) return;
  console::print_json({{"input", options.input},
                       {"output", options.output},
                       {"spec", summary.spec},
                       {"elements", summary.elements},
                       {"bytes_in", summary.bytes_in},
                       {"bytes_out", summary.bytes_out},
                       {"ratio", summary.ratio}},
                      console);
}

void run_encode(const FileOptions& options, const console::Console& console) {
  refuse_same_file(options);
  refuse_other_than_gw(options.output);
  const std::unique_ptr<const Codec> codec = make_codec(options.codec);
  const Tensor tensor = read_tensor(options.input);
  ThreadPool pool(options.threads);
  write_gw(options.output, tensor, *codec, options.seed, pool);
  const std::uint64_t float_bytes = tensor.values.size() * sizeof(float);
  const std::uint64_t file_bytes = fs::file_size(options.output);
  report({.verb = "encoded",
          .spec = codec->spec(),
          .elements = tensor.values.size(),
          .bytes_in = float_bytes,
          .bytes_out = file_bytes,
          .ratio = static_cast<double>(float_bytes) / static_cast<double>(file_bytes)},
         options, console);
}

void run_decode(const FileOptions& options, const console::Console& console) {
  refuse_same_file(options);
  check_tensor_path(options.output);
  const GwFile file = read_gw(options.input);
  ThreadPool pool(options.threads);
  const Tensor tensor = decode_gw(file, pool);
  write_tensor(options.output, tensor);
  const std::uint64_t float_bytes = tensor.values.size() * sizeof(float);
  report({.verb = "decoded",
          .spec = file.codec->spec(),
          .elements = tensor.values.size(),
          .bytes_in = file.bytes.size(),
          .bytes_out = float_bytes,
          .ratio = static_cast<double>(float_bytes) / static_cast<double>(file.bytes.size())},
         options, console);
}

}  // namespace

void add_encode_command(CLI::App& program, const console::Console& console) {
  auto* command = program.add_subcommand("encode", "Encode a tensor file as a .gw file");
  auto options = std::make_shared<FileOptions>();
  command->add_option("IN", options->input, "A .f32 (raw little-endian floats) or .npy file")
      ->required()
      ->type_name("");
  command->add_option("OUT", options->output, "The .gw file to write")->required()->type_name("");
  command->add_option("--codec", options->codec, "How to encode; see 'gradwire codecs'")
      ->required()
      ->type_name("SPEC");
  command->add_option("--seed", options->seed, "Seed of the random numbers of codecs")
      ->transform(whole_number(0, std::numeric_limits<std::uint64_t>::max()))
      ->type_name("S")
      ->capture_default_str();
  add_threads_option(*command, options->threads);
  add_json_option(*command, options->json);
  command->footer(
      "Example:\n"
      "  gradwire encode --codec 'topk(1%) | natural | entropy' gradient.npy gradient.gw");
  command->callback([options, &console] { run_encode(*options, console); });
}

void add_decode_command(CLI::App& program, const console::Console& console) {
  auto* command = program.add_subcommand("decode", "Decode a .gw file to a tensor file");
  auto options = std::make_shared<FileOptions>();
  command->add_option("IN", options->input, "A .gw file")->required()->type_name("");
  command->add_option("OUT", options->output, "The .f32 or .npy file to write")
      ->required()
      ->type_name("");
  add_threads_option(*command, options->threads);
  add_json_option(*command, options->json);
  command->footer(
      "Example:\n"
      "  gradwire decode gradient.gw decoded.npy");
  command->callback([options, &console] { run_decode(*options, console); });
}

}  // namespace gradwire::cli
