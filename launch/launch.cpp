#include "launch/launch.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <optional>
#include <random>

#include "launch/child_processes.h"
#include "launch/exit_codes.h"
#include "launch/placement.h"
#include "launch/stop_request.h"

namespace gradwire::launch {
namespace {

using Clock = ChildProcesses::Clock;

constexpr auto kTimeAfterTerm = std::chrono::seconds(2);
constexpr auto kStopLooks = std::chrono::milliseconds(200);

// A port that nobody listens on right now. Somebody may take it before rank 0 does; the system
// hands out others first, so that is unlikely, and rank 0 then says so.
std::uint16_t free_port() {
  const FileDescriptor listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* const any_address = reinterpret_cast<sockaddr*>(&address);
  socklen_t bytes = sizeof(address);
  if (listener.number() < 0 || bind(listener.number(), any_address, bytes) != 0 ||
      getsockname(listener.number(), any_address, &bytes) != 0) {
    throw Error(fmt::format("cannot find a free port on 127.0.0.1: {}", std::strerror(errno)));
  }
  return ntohs(address.sin_port);
}

}  // namespace

std::uint64_t make_run_key() {
  std::random_device random;
  return std::uniform_int_distribution<std::uint64_t>(1)(random);
}

std::vector<std::string> worker_variables(const WorkerPlace& place) {
  return {fmt::format("RANK={}", place.rank),
          fmt::format("WORLD_SIZE={}", place.size),
          fmt::format("LOCAL_WORLD_SIZE={}", place.host_workers),
          fmt::format("MASTER_ADDR={}", place.master_host),
          fmt::format("MASTER_PORT={}", place.master_port),
          fmt::format("{}={}", kRunKeyVariable, place.run_key),
          "TORCHELASTIC_USE_AGENT_STORE=False",
          fmt::format("{}=1", kWorkerVariable)};
}

void launch_workers(const LaunchOptions& options) {
  WorkerPlace place{.size = options.workers,
                    .host_workers = options.workers,
                    .master_host = "127.0.0.1",
                    .master_port = free_port(),
                    .run_key = make_run_key()};
  ChildProcesses workers(judge_worker);
  for (place.rank = 0; place.rank < options.workers; ++place.rank) {
    workers.start({.name = fmt::format("rank {}", place.rank),
                   .program = options.program,
                   .arguments = options.arguments,
                   .environment = environment_with(worker_variables(place)),
                   .out = place.rank == 0 ? -1 : STDERR_FILENO});
  }
  while (workers.any_running() && !workers.failure()) {
    // A signal between two looks is seen at the next one.
    workers.wait(options.wants_stop ? std::optional(Clock::now() + kStopLooks) : std::nullopt);
    // From a terminal they have heard it already; twice does no harm.
    if (options.wants_stop && options.wants_stop() && workers.note_stop_asked()) {
      workers.send(SIGTERM);
    }
  }
  if (workers.is_stopped()) throw Stopped("");
  if (!workers.failure()) return;

  // The others should notice by themselves; those that do not are ended.
  wait_for_all(workers, options.grace);
  const ChildFailure failure = *workers.failure();
  workers.send(SIGTERM);
  wait_for_all(workers, kTimeAfterTerm);
  throw WorkerFailed(failure.text, failure.exit_code);
}

}  // namespace gradwire::launch
