// The main function of a fuzz target that is built without libFuzzer. Runs the inputs that it is
// given, as files or directories, and then mutations of them, the same ones every time. An input
// that stops the program is left beside it in PROGRAM.crash; give it that file to see it again.
//   PROGRAM [-runs=MUTATIONS] [-seed=NUMBER] PATH...
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/mutator.h"
#include "fuzz/target.h"

// There in programs with AddressSanitizer, whose death sends no signal.
extern "C" [[gnu::weak]] void __sanitizer_set_death_callback(void (*callback)());
// Called by UndefinedBehaviorSanitizer, whose death does not call back.
extern "C" void __ubsan_on_report();

namespace gradwire::fuzz {
namespace {

// --- What is left of a crash ---------------------------------------------------------------------

// Global, because that is all a signal handler can reach.
std::string crash_path;
std::span<const std::byte> running_input;

// Calls only what is allowed in a signal handler.
void leave_running_input() {
  const int file = open(crash_path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
  if (file < 0) return;
  if (write(file, running_input.data(), running_input.size()) >= 0) {
    for (const std::string_view part : {std::string_view("replay: the input is in "),
                                        std::string_view(crash_path), std::string_view("\n")}) {
      if (write(STDERR_FILENO, part.data(), part.size()) < 0) break;
    }
  }
  close(file);
}

void handle_signal(int signal) {
  leave_running_input();
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

void watch_for_crashes(const std::string& program) {
  crash_path = program + ".crash";
  const bool sanitized = __sanitizer_set_death_callback != nullptr;
  if (sanitized) __sanitizer_set_death_callback(leave_running_input);
  std::signal(SIGABRT, handle_signal);
  if (sanitized) return;  // the others are the sanitizer's
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL}) std::signal(signal, handle_signal);
}

// --- Running -------------------------------------------------------------------------------------

// In memory of exactly its size, so that a sanitizer sees every byte read behind it.
void run(const Input& input) {
  const auto memory = std::make_unique<std::byte[]>(input.size());
  std::copy(input.begin(), input.end(), memory.get());
  running_input = {memory.get(), input.size()};
  test_input(running_input);
}

Input read_input(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error(path.string() + ": cannot be read");
  Input input(std::filesystem::file_size(path));
  file.read(reinterpret_cast<char*>(input.data()), static_cast<std::streamsize>(input.size()));
  return input;
}

// In the order of their names, which is the same on every machine.
std::vector<Input> read_inputs(const std::vector<std::filesystem::path>& paths) {
  std::vector<std::filesystem::path> files;
  for (const std::filesystem::path& path : paths) {
    if (std::filesystem::is_directory(path)) {
      for (const auto& entry : std::filesystem::directory_iterator(path)) {
        files.push_back(entry.path());
      }
    } else {
      files.push_back(path);
    }
  }
  std::sort(files.begin(), files.end());
  std::vector<Input> inputs;
  for (const std::filesystem::path& file : files) inputs.push_back(read_input(file));
  if (inputs.empty()) throw std::runtime_error("no inputs to start from");
  return inputs;
}

struct Options {
  std::uint64_t runs = 0;
  std::uint64_t seed = 1;
  std::vector<std::filesystem::path> paths;
};

bool take_number(std::string_view argument, std::string_view name, std::uint64_t& number) {
  if (!argument.starts_with(name)) return false;
  const char* const end = argument.data() + argument.size();
  const auto [rest, error] = std::from_chars(argument.data() + name.size(), end, number);
  if (error != std::errc() || rest != end) {
    throw std::runtime_error(std::string(argument) + ": not a number");
  }
  return true;
}

Options read_options(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (take_number(argument, "-runs=", options.runs)) continue;
    if (take_number(argument, "-seed=", options.seed)) continue;
    options.paths.emplace_back(argument);
  }
  return options;
}

void replay(const std::vector<Input>& seeds, const Options& options) {
  for (const Input& seed : seeds) run(seed);
  Mutator mutator(seeds, options.seed);
  for (std::uint64_t i = 0; i < options.runs; ++i) run(mutator.next());
  std::printf("executions: %llu\n", static_cast<unsigned long long>(seeds.size() + options.runs));
}

}  // namespace
}  // namespace gradwire::fuzz

extern "C" void __ubsan_on_report() { gradwire::fuzz::leave_running_input(); }

int main(int argc, char** argv) {
  gradwire::fuzz::Options options;
  std::vector<gradwire::fuzz::Input> seeds;
  try {
    options = gradwire::fuzz::read_options(argc, argv);
    seeds = gradwire::fuzz::read_inputs(options.paths);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "replay: %s\n", error.what());
    return 2;
  }
  // From here on an exception is a crash like any other.
  gradwire::fuzz::watch_for_crashes(argv[0]);
  gradwire::fuzz::replay(seeds, options);
  return 0;
}
