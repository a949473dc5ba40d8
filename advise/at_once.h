// Measures the work of several workers that run on one machine at the same time. Header only.
#pragma once

#include <algorithm>
#include <barrier>
#include <cstddef>
#include <exception>
#include <mutex>
#include <thread>
#include <type_traits>
#include <vector>

#include "bench/statistics.h"

namespace gradwire::advise {

// Workers that share a machine.
struct HostLoad {
  std::size_t workers = 1;
  std::size_t cores = 1;

  // More workers than cores would only take turns.
  std::size_t at_once() const { return std::min(workers, cores); }
  double cores_per_worker() const {
    return static_cast<double>(cores) / static_cast<double>(workers);
  }
};

// Each thread calls `make()` for its work, a callable that returns the figures of one round. One
// round warms up; then all threads begin each of `rounds` rounds at the same moment. Returns the
// figures by round and thread. The first exception of a thread is thrown here when all have ended.
template <class Make>
auto run_at_once(std::size_t threads, std::size_t rounds, const Make& make) {
  using Figures = std::invoke_result_t<std::invoke_result_t<const Make&>&>;
  std::vector<std::vector<Figures>> all(rounds, std::vector<Figures>(threads));
  std::barrier together(static_cast<std::ptrdiff_t>(threads));
  std::mutex mutex;
  std::exception_ptr failure;
  const auto run = [&](std::size_t thread) {
    try {
      auto work = make();
      work();
      for (std::size_t round = 0; round < rounds; ++round) {
        together.arrive_and_wait();
        all[round][thread] = work();
      }
    } catch (...) {
      const std::scoped_lock lock(mutex);
      if (!failure) failure = std::current_exception();
    }
    together.arrive_and_drop();
  };
  {
    std::vector<std::jthread> others;
    for (std::size_t thread = 1; thread < threads; ++thread) others.emplace_back(run, thread);
    run(0);
  }
  if (failure) std::rethrow_exception(failure);
  return all;
}

// The median over the rounds of the largest figure among the threads: workers wait for the slowest.
template <class Figures>
double slowest(const std::vector<std::vector<Figures>>& rounds, double Figures::*figure) {
  std::vector<double> numbers;
  for (const auto& threads : rounds) {
    double largest = 0;
    for (const Figures& each : threads) largest = std::max(largest, each.*figure);
    numbers.push_back(largest);
  }
  return bench::median(std::move(numbers));
}

}  // namespace gradwire::advise
