// ranks fault [OPTION...]: a rank that exchanges again and again, for tests that do something bad
// to it. Lines on stdout say how far it is; an error goes to stderr as "rank R: error: ...".
//   --deadline-ms D      how long a peer may be silent (3000)
//   --elements N         of the tensor (4194304)
//   --steps N            as many exchanges (1000000: until it is killed)
//   --sleep-before-ms T  the caller is busy elsewhere before its first exchange (0)
//   --sleep-after-ms T   ... and between its last one and the end (0)
//   --run N, --codec SPEC, --topology NAME  what ranks may disagree on (7, qsgd(bits=8), scatter)
#include <unistd.h>

#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gradwire/collective/communicator.h"
#include "gradwire/collective/exchange.h"
#include "gradwire/collective/test_support.h"
#include "tests/ranks/commands.h"
#include "tests/ranks/rank.h"

namespace gradwire::ranks {
namespace {

using std::chrono::milliseconds;

struct FaultOptions {
  std::uint64_t deadline_ms = 3000;
  std::uint64_t elements = 4194304;
  std::uint64_t steps = 1000000;
  std::uint64_t sleep_before_ms = 0;
  std::uint64_t sleep_after_ms = 0;
  std::uint64_t run = 7;
  std::string codec = "qsgd(bits=8)";
  std::string topology = "scatter";
};

std::uint64_t number_in(const std::string& text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) {
    throw Error(text + " is not a number");
  }
  return number;
}

FaultOptions read_options(Arguments arguments) {
  FaultOptions options;
  const std::pair<const char*, std::uint64_t&> numbers[] = {
      {"--deadline-ms", options.deadline_ms},
      {"--elements", options.elements},
      {"--steps", options.steps},
      {"--sleep-before-ms", options.sleep_before_ms},
      {"--sleep-after-ms", options.sleep_after_ms},
      {"--run", options.run}};
  const std::pair<const char*, std::string&> texts[] = {{"--codec", options.codec},
                                                        {"--topology", options.topology}};
  for (std::size_t i = 0; i < arguments.size(); i += 2) {
    bool is_known = false;
    if (i + 1 == arguments.size()) throw Error(arguments[i] + " needs a value");
    for (const auto& [name, number] : numbers) {
      if (arguments[i] != name) continue;
      number = number_in(arguments[i + 1]);
      is_known = true;
    }
    for (const auto& [name, text] : texts) {
      if (arguments[i] != name) continue;
      text = arguments[i + 1];
      is_known = true;
    }
    if (!is_known) throw Error("there is no option " + arguments[i]);
  }
  return options;
}

// At once, so that who watches knows where the rank is. In one piece, since ranks may share stdout.
void say(std::size_t rank, const std::string& what) {
  std::printf("%s", ("rank " + std::to_string(rank) + ": " + what + '\n').c_str());
  std::fflush(stdout);
}

void exchange_all(Communicator& communicator, const FaultOptions& options) {
  const std::size_t rank = communicator.rank();
  const std::vector<TensorSize> shapes = {{"weights", options.elements}};
  RankTensors tensors(rank, shapes);
  const auto exchange =
      make_exchange(communicator, shapes,
                    {.up = make_codec(options.codec), .topology = topology_of(options.topology)});
  say(rank, "started, process " + std::to_string(getpid()));
  std::this_thread::sleep_for(milliseconds(options.sleep_before_ms));
  for (std::uint64_t step = 0; step < options.steps; ++step) {
    exchange->run(tensors.call(step));
    say(rank, "step " + std::to_string(step) + " done");
  }
  std::this_thread::sleep_for(milliseconds(options.sleep_after_ms));
}

}  // namespace

int fault_command(Arguments arguments) {
  const FaultOptions options = read_options(arguments);
  auto transport = transport_from_environment();
  const std::size_t rank = transport->rank();
  const auto fail = [rank](const Error& error) {
    std::fprintf(stderr, "%s",
                 ("rank " + std::to_string(rank) + ": error: " + error.what() + '\n').c_str());
    return 1;
  };
  try {
    Communicator communicator(
        std::move(transport),
        {.run = options.run, .peer_timeout = milliseconds(options.deadline_ms)});
    try {
      exchange_all(communicator, options);
      communicator.close();
    } catch (const Error& error) {
      // Here and not behind the communicator's end, which takes its time.
      return fail(error);
    }
  } catch (const Error& error) {
    return fail(error);
  }
  say(rank, "finished");
  return 0;
}

}  // namespace gradwire::ranks
