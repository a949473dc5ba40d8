// The commands below `gradwire bench`.
#pragma once

#include <cstddef>

#include "console/console.h"

namespace CLI {
class App;
}

namespace gradwire::cli {

inline constexpr std::size_t kRoundsMax = 100'000;

void add_bench_codec_command(CLI::App& bench, const console::Console& console);
void add_bench_allreduce_command(CLI::App& bench, const console::Console& console);

}  // namespace gradwire::cli
