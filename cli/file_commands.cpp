// gradwire encode and decode: .f32 or .npy to .gw and back.
#include <fmt/format.h>
#include <fmt/ostream.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstring>
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
#include "gradwire/file/atomic_file.h"
#include "gradwire/file/gw_file.h"
#include "gradwire/file/npy.h"
#include "gradwire/file/read_file.h"
#include "gradwire/file/tensor_file.h"

namespace gradwire::cli {
namespace {

namespace fs = std::filesystem;

struct FileOptions {
  std::string input;
  std::string output;
  std::size_t threads = machine_threads();
  bool json = false;
  bool force = false;
  std::string codec;       // encode only
  std::uint64_t seed = 0;  // encode only
};

constexpr const char* kStandardStream = "-";  // stdin as IN, stdout as OUT

void check_files(const FileOptions& options) {
  if (options.output == kStandardStream) {
    if (options.json) throw UsageError("--json prints on stdout, and so does OUT -: give a file");
    return;
  }
  if (!options.force && fs::exists(options.output)) {
    throw UsageError(options.output + " exists: give --force to replace it");
  }
}

std::vector<std::byte> read_stdin() { return read_file("/dev/stdin"); }

void write_stdout(std::span<const std::byte> bytes, const console::Console& console) {
  console.out.write(reinterpret_cast<const char*>(bytes.data()),
                    static_cast<std::streamsize>(bytes.size()));
}

// A file that is removed when it goes.
class ScratchFile {
 public:
  explicit ScratchFile(const char* ending)
      : path_(fs::temp_directory_path() / fmt::format("gradwire-{}{}", getpid(), ending)) {}
  ~ScratchFile() {
    std::error_code ignored;
    fs::remove(path_, ignored);
  }
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

// From stdin: a .npy file by its first bytes, otherwise raw floats.
Tensor read_input(const std::string& input) {
  if (input != kStandardStream) return read_tensor(input);
  const std::vector<std::byte> bytes = read_stdin();
  constexpr std::string_view kNpy = "\x93NUMPY";
  const bool is_npy =
      bytes.size() >= kNpy.size() && std::memcmp(bytes.data(), kNpy.data(), kNpy.size()) == 0;
  const ScratchFile scratch(is_npy ? ".npy" : ".f32");
  AtomicFile file(scratch.path());
  file.write(bytes);
  file.commit();
  return read_tensor(scratch.path());
}

void refuse_same_file(const FileOptions& options) {
  if (options.output == kStandardStream) return;
  std::error_code absent;  // then they are not the same
  if (options.input == options.output || fs::equivalent(options.input, options.output, absent)) {
    throw UsageError(options.output + ": is both IN and OUT: give OUT another name");
  }
}

void refuse_other_than_gw(const std::string& output) {
  if (output == kStandardStream || fs::path(output).extension() == ".gw") return;
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
  check_files(options);
  warn_of_threads(options.threads, "for one file", console);
  const std::unique_ptr<const Codec> codec = make_codec(options.codec);
  warn_of_share(options.codec, console);
  const Tensor tensor = read_input(options.input);
  ThreadPool pool(options.threads);
  const bool is_stdout = options.output == kStandardStream;
  const ScratchFile scratch(".gw");
  const fs::path path = is_stdout ? scratch.path() : fs::path(options.output);
  write_gw(path, tensor, *codec, options.seed, pool);
  const std::uint64_t float_bytes = tensor.values.size() * sizeof(float);
  const std::uint64_t file_bytes = fs::file_size(path);
  if (is_stdout) write_stdout(read_file(path), console);
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
  const bool is_stdout = options.output == kStandardStream;
  if (!is_stdout) check_tensor_path(options.output);
  check_files(options);
  const GwFile file = options.input == kStandardStream ? parse_gw_file("stdin", read_stdin())
                                                       : read_gw(options.input);
  ThreadPool pool(options.threads);
  const Tensor tensor = decode_gw(file, pool);
  if (is_stdout) {
    const std::vector<std::uint64_t> one_dimension = {tensor.values.size()};
    write_stdout(npy_header(tensor.shape.value_or(one_dimension)), console);
    write_stdout(std::as_bytes(std::span(tensor.values)), console);
  } else {
    write_tensor(options.output, tensor);
  }
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
  command
      ->add_option("IN", options->input,
                   "A .f32 (raw little-endian floats) or .npy file; - for stdin")
      ->required()
      ->type_name("");
  command->add_option("OUT", options->output, "The .gw file to write; - for stdout")
      ->required()
      ->type_name("");
  command->add_option("--codec", options->codec, "How to encode; see 'gradwire codecs'")
      ->required()
      ->type_name("SPEC");
  command->add_option("--seed", options->seed, "Seed of the random numbers of codecs")
      ->transform(whole_number(0, std::numeric_limits<std::uint64_t>::max()))
      ->type_name("S")
      ->capture_default_str();
  command->add_flag("--force", options->force, "Replace OUT if it exists");
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
  command->add_option("IN", options->input, "A .gw file; - for stdin")->required()->type_name("");
  command
      ->add_option("OUT", options->output, "The .f32 or .npy file to write; - for .npy on stdout")
      ->required()
      ->type_name("");
  command->add_flag("--force", options->force, "Replace OUT if it exists");
  add_threads_option(*command, options->threads);
  add_json_option(*command, options->json);
  command->footer(
      "Example:\n"
      "  gradwire decode gradient.gw decoded.npy");
  command->callback([options, &console] { run_decode(*options, console); });
}

}  // namespace gradwire::cli
