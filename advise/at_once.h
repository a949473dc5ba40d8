// Measures the work of several workers that run on one machine at the same time. Header only.
#pragma once

#include <algorithm>
#include <atomic>
#include <barrier>
#include <cmath>
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

// The median of the rounds' total times may be off by this share of it: its standard error, from
// the median deviation. 0 for fewer than three rounds.
template <class Figures>
double noise_of(const std::vector<std::vector<Figures>>& rounds) {
  constexpr std::size_t kRoundsMin = 3;
  constexpr double kErrorOfMedian = 1.2533 * 1.4826;  // of normal noise, over the median deviation
  if (rounds.size() < kRoundsMin) return 0;
  std::vector<double> totals;
  for (const auto& threads : rounds) {
    totals.push_back(std::ranges::max(threads, {}, &Figures::total).total());
  }
  const double median = bench::median(totals);
  if (!(median > 0)) return 0;
  for (double& total : totals) total = std::abs(total - median);
  return kErrorOfMedian * bench::median(totals) /
         (median * std::sqrt(static_cast<double>(rounds.size())));
}

// Measurements may take so many times the rounds that were asked for.
inline constexpr std::size_t kRoundsFactor = 8;

// Each thread calls `make()` for its work, a callable that returns the figures of one round, with
// their total(). One round warms up; then all threads begin each round at the same moment. There
// are `rounds` of them, and more up to `rounds_max` until their median is known to 2%. Returns the
// figures by round and thread. The first exception of a thread is thrown here when all have ended.
template <class Make>
auto run_at_once(std::size_t threads, std::size_t rounds, std::size_t rounds_max,
                 const Make& make) {
  constexpr double kStable = 0.02;
  using Figures = std::invoke_result_t<std::invoke_result_t<const Make&>&>;
  std::vector<std::vector<Figures>> all;
  std::barrier together(static_cast<std::ptrdiff_t>(threads));
  std::atomic<bool> is_over = false;
  std::mutex mutex;
  std::exception_ptr failure;
  const auto begin_round = [&] {  // by the first thread, while the others wait
    if (all.size() >= rounds && (all.size() >= rounds_max || noise_of(all) <= kStable)) {
      is_over = true;
    } else {
      all.emplace_back(threads);
    }
  };
  const auto run = [&](std::size_t thread) {
    try {
      auto work = make();
      work();
      while (true) {
        if (thread == 0) begin_round();
        together.arrive_and_wait();
        if (is_over) break;
        all.back()[thread] = work();
        together.arrive_and_wait();
      }
    } catch (...) {
      is_over = true;
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
