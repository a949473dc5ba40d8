#include "launch/workers.h"

#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "gradwire/core/check.h"
#include "gradwire/wire/frame.h"
#include "launch/transports.h"

namespace gradwire::launch {
namespace {

// The first failure is the cause; the others are its consequences.
class FirstFailure {
 public:
  void note(std::exception_ptr failure) {
    const std::scoped_lock lock(mutex_);
    if (!first_) first_ = std::move(failure);
  }
  void rethrow() {
    const std::scoped_lock lock(mutex_);
    if (first_) std::rethrow_exception(first_);
  }

 private:
  std::mutex mutex_;
  std::exception_ptr first_;
};

// What all workers of this process share. Refers to the caller's arguments.
struct Run {
  const WorkerOptions& options;
  const Placement& placement;
  std::uint64_t seed;
  const Work& work;
  FirstFailure failure = {};
};

// The same on all ranks, and different for most runs that could meet by mistake.
std::uint64_t run_number(const Run& run) {
  return fingerprint(fmt::format("seed {}, port {}, {} workers", run.seed,
                                 run.placement.master_port, run.placement.size));
}

// Each process says it once.
void tell_refused(const Communicator& communicator) {
  const std::size_t count = communicator.refused_connections();
  if (count == 0) return;
  fmt::print(stderr,
             "gradwire: rank {} has refused {} connection{} of strangers while the ranks met\n",
             communicator.rank(), count, count == 1 ? "" : "s");
}

void run_worker(const TransportMaker& make_transport, std::size_t rank, Run& run) {
  // Lives longer than the try block: it tells the peers about a failure when it goes, and what they
  // throw then must be noted after the failure itself.
  std::unique_ptr<Communicator> communicator;
  try {
    communicator = std::make_unique<Communicator>(
        make_transport(rank),
        CommunicatorOptions{.run = run_number(run),
                            .peer_timeout = run.options.peer_timeout(),
                            .codec_threads = run.options.codec_threads,
                            .hosts = run.options.host_choice(),
                            .link = run.options.link_of(rank, run.placement.size)});
    tell_refused(*communicator);
    run.work(*communicator);
    communicator->close();
  } catch (...) {
    run.failure.note(std::current_exception());
  }
}

void run_threads(const TransportMaker& make_transport, Run& run) {
  std::vector<std::jthread> threads;  // joined when they go
  for (std::size_t rank = 0; rank < run.placement.size; ++rank) {
    threads.emplace_back([&, rank] { run_worker(make_transport, rank, run); });
  }
}

}  // namespace

void run_workers(const WorkerOptions& options, const Placement& placement, std::uint64_t seed,
                 const Work& work) {
  GW_CHECK(placement.role != Role::starter);
  Run run{.options = options, .placement = placement, .seed = seed, .work = work};
  const TransportMaker make_transport = placement.transport->open(placement, options);
  if (placement.role == Role::all_workers) {
    run_threads(make_transport, run);
  } else {
    run_worker(make_transport, placement.rank, run);
  }
  run.failure.rethrow();
}

}  // namespace gradwire::launch
