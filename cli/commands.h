// The commands of the program. Each function adds one, with its options and its help, to the
// parser; the command runs when parsing has succeeded. Parser and console must outlive the call to
// parse.
#pragma once

#include <CLI/CLI.hpp>

#include "cli/console.h"
#include "gradwire/core/error.h"

namespace gradwire::cli {

// The arguments are fine one by one but make no sense together.
class UsageError : public Error {
 public:
  using Error::Error;
};

// Somebody asked the command to stop, and everything that it needs to go on is on disk. The message
// is empty where another process reports.
class Stopped : public Error {
 public:
  using Error::Error;
};

void add_codecs_command(CLI::App& program, const Console& console);
void add_methods_command(CLI::App& program, const Console& console);
void add_encode_command(CLI::App& program, const Console& console);
void add_decode_command(CLI::App& program, const Console& console);
void add_inspect_command(CLI::App& program, const Console& console);
void add_bench_command(CLI::App& program, const Console& console);
void add_advise_command(CLI::App& program, const Console& console);
void add_plan_command(CLI::App& program, const Console& console);
void add_train_command(CLI::App& program, const Console& console);
void add_compare_command(CLI::App& program, const Console& console);
void add_report_command(CLI::App& program, const Console& console);
void add_reproduce_command(CLI::App& program, const Console& console);

}  // namespace gradwire::cli
