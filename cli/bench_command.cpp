// gradwire bench: speed, on this machine and between machines.
#include <CLI/CLI.hpp>

#include "cli/bench_commands.h"
#include "cli/commands.h"

namespace gradwire::cli {

void add_bench_command(CLI::App& program, const console::Console& console) {
  auto* command = program.add_subcommand("bench", "Measure speed on this machine");
  command->require_subcommand(0, 1);
  command->footer(
      "Example:\n"
      "  gradwire bench codec --codec natural");
  add_bench_codec_command(*command, console);
  add_bench_allreduce_command(*command, console);
}

}  // namespace gradwire::cli
