// The commands below `gradwire bench`.
#pragma once

#include <CLI/CLI.hpp>

#include "cli/console.h"

namespace gradwire::cli {

inline constexpr std::size_t kRoundsMax = 100'000;

void add_bench_codec_command(CLI::App& bench, const Console& console);
void add_bench_allreduce_command(CLI::App& bench, const Console& console);

}  // namespace gradwire::cli
