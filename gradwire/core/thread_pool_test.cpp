#include "gradwire/core/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <numeric>
#include <stdexcept>
#include <vector>

namespace gradwire {
namespace {

TEST(ThreadPool, EveryTaskRunsOnce) {
  for (const std::size_t threads : {1, 2, 5}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.threads(), threads);
    for (const std::size_t count : {0, 1, 3, 1000}) {
      std::vector<int> runs(count);
      pool.run(count, [&](std::size_t i, std::size_t thread) {
        ASSERT_LT(thread, threads);
        ++runs[i];
      });
      EXPECT_EQ(std::accumulate(runs.begin(), runs.end(), 0), static_cast<int>(count));
    }
  }
}

TEST(ThreadPool, ThreadNumbersAreNeverSharedAtOnce) {
  ThreadPool pool(4);
  std::atomic<int> busy[4] = {};
  pool.run(200, [&](std::size_t, std::size_t thread) {
    EXPECT_EQ(busy[thread].fetch_add(1), 0);
    std::this_thread::yield();
    busy[thread].fetch_sub(1);
  });
}

TEST(ThreadPool, FirstFailureIsThrownAfterTheOthersEnded) {
  ThreadPool pool(3);
  std::atomic<int> ran = 0;
  const auto run = [&] {
    pool.run(50, [&](std::size_t i, std::size_t) {
      ++ran;
      if (i == 10) throw std::runtime_error("task 10");
    });
  };
  EXPECT_THROW(run(), std::runtime_error);
  EXPECT_EQ(ran, 50);
  pool.run(1, [&](std::size_t, std::size_t) { ++ran; });  // and the pool goes on
  EXPECT_EQ(ran, 51);
}

}  // namespace
}  // namespace gradwire
