// ranks COMMAND [ARGUMENT...]: one process, one rank; for tests that need processes. See rank.h for
// how it finds the others. Exit code 0 if all went well, 1 with a line on stderr if not, 2 for
// wrong usage.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "tests/ranks/commands.h"

namespace {

using namespace gradwire::ranks;

struct Command {
  std::string_view name;
  int (*run)(Arguments arguments);
};

constexpr Command kCommands[] = {
    {"elastic", elastic_command}, {"fault", fault_command},         {"identity", identity_command},
    {"levels", levels_command},   {"transport", transport_command},
};

}  // namespace

int main(int argument_count, char** argument_values) {
  const std::vector<std::string> arguments(argument_values + std::min(argument_count, 1),
                                           argument_values + argument_count);
  const auto command = std::ranges::find(
      kCommands, arguments.empty() ? std::string_view() : arguments.front(), &Command::name);
  if (command == std::end(kCommands)) {
    std::fprintf(stderr, "ranks needs a command:");
    for (const Command& known : kCommands) std::fprintf(stderr, " %s", known.name.data());
    std::fprintf(stderr, "\n");
    return 2;
  }
  try {
    return command->run(Arguments(arguments).subspan(1));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "ranks: %s\n", error.what());
    return 1;
  }
}
