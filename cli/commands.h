// The commands of the program. Each function adds one, with its options and its help, to the
// parser; the command runs when parsing has succeeded. Parser and console must outlive the call to
// parse.
#pragma once

#include "console/console.h"

namespace CLI {
class App;
}

namespace gradwire::cli {

void add_codecs_command(CLI::App& program, const console::Console& console);
void add_methods_command(CLI::App& program, const console::Console& console);
void add_encode_command(CLI::App& program, const console::Console& console);
void add_decode_command(CLI::App& program, const console::Console& console);
void add_inspect_command(CLI::App& program, const console::Console& console);
void add_bench_command(CLI::App& program, const console::Console& console);
void add_advise_command(CLI::App& program, const console::Console& console);
void add_plan_command(CLI::App& program, const console::Console& console);
void add_train_command(CLI::App& program, const console::Console& console);
void add_compare_command(CLI::App& program, const console::Console& console);
void add_run_command(CLI::App& program, const console::Console& console);
void add_agent_command(CLI::App& program);
void add_doctor_command(CLI::App& program, const console::Console& console);
void add_report_command(CLI::App& program, const console::Console& console);
void add_watch_command(CLI::App& program, const console::Console& console);
void add_secret_command(CLI::App& program, const console::Console& console);
void add_completion_command(CLI::App& program, const console::Console& console);
void add_man_command(CLI::App& program, const console::Console& console);
void add_reproduce_command(CLI::App& program, const console::Console& console);

}  // namespace gradwire::cli
