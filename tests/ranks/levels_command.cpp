// ranks levels [--forever]: four ranks on two hosts. Goes through the cases of levels.h, and rank 0
// prints a line for each. With --forever one method takes steps until something goes wrong.
#include <unistd.h>

#include <cstdio>
#include <string>

#include "tests/ranks/commands.h"
#include "tests/ranks/levels.h"
#include "tests/ranks/rank.h"

namespace gradwire::ranks {
namespace {

[[noreturn]] void step_for_ever(Communicator& communicator) {
  TestWorker worker(communicator, "ef(topk(10%))", {.seed = 3}, {{"w", {1000, 1000}}});
  for (std::uint64_t step = 0;; ++step) {
    worker.step(step);
    std::printf("step %d done\n", static_cast<int>(step));
    std::fflush(stdout);
  }
}

}  // namespace

int levels_command(Arguments arguments) {
  const bool is_for_ever = !arguments.empty() && arguments[0] == "--forever";
  if (arguments.size() > (is_for_ever ? 1u : 0u)) throw Error("levels takes --forever or nothing");
  CommunicatorOptions options = levels_options();
  if (is_for_ever) options.peer_timeout = std::chrono::milliseconds(3000);
  Communicator communicator(transport_from_environment(), options);
  try {
    if (is_for_ever) step_for_ever(communicator);
    run_levels(communicator, [&](const std::string& line) {
      if (communicator.rank() == 0) std::printf("%s\n", line.c_str());
    });
    communicator.close();
    return 0;
  } catch (const Error& error) {
    // Here and not behind the communicator's end, which takes its time.
    std::fprintf(stderr, "%s",
                 ("rank " + std::to_string(communicator.rank()) + ": error: " + error.what() + '\n')
                     .c_str());
    return 1;
  }
}

}  // namespace gradwire::ranks
