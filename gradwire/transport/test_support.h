// For tests: ranks as threads.
#pragma once

#include <cstddef>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "gradwire/transport/in_process.h"
#include "gradwire/transport/transport.h"

namespace gradwire {

// Calls f(rank) on one thread a rank, and returns when all have ended. Throws what was thrown
// first; since a rank that fails makes its peers fail, a PeerError comes only if there is nothing
// else.
template <class F>
void run_ranks(std::size_t size, F f) {
  std::mutex mutex;
  std::exception_ptr failure;
  std::exception_ptr peer_error;
  const auto run = [&](std::size_t rank) {
    try {
      f(rank);
    } catch (const PeerError&) {
      const std::lock_guard lock(mutex);
      if (!peer_error) peer_error = std::current_exception();
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!failure) failure = std::current_exception();
    }
  };
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < size; ++rank) threads.emplace_back(run, rank);
  for (std::thread& thread : threads) thread.join();
  if (failure) std::rethrow_exception(failure);
  if (peer_error) std::rethrow_exception(peer_error);
}

// The same with a transport a rank: f(transport). They live until all ranks have ended; one whose
// rank throws is abandoned, so that the others do not wait for it.
template <class F>
void run_transports(std::span<const std::unique_ptr<Transport>> transports, F f) {
  run_ranks(transports.size(), [&](std::size_t rank) {
    try {
      f(*transports[rank]);
    } catch (...) {
      transports[rank]->abandon();
      throw;
    }
  });
}

inline std::vector<std::unique_ptr<Transport>> in_process_transports(std::size_t size) {
  InProcessWorld world(size);
  std::vector<std::unique_ptr<Transport>> transports;
  for (std::size_t rank = 0; rank < size; ++rank) transports.push_back(world.join(rank));
  return transports;
}

}  // namespace gradwire
