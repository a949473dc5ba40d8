// A fixed set of threads that share the iterations of loops. The calling thread takes part, so a
// pool of one starts no threads. Owns its threads; run() may be called from one thread at a time.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace gradwire {

class ThreadPool {
 public:
  // Throws Error if the system cannot start that many threads.
  explicit ThreadPool(std::size_t threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  std::size_t threads() const { return workers_.size() + 1; }

  // Calls task(i, thread) for every i < count, each once, thread < threads(), and returns when all
  // are done. If tasks throw, the first exception is thrown here after all tasks have ended.
  void run(std::size_t count, const std::function<void(std::size_t, std::size_t)>& task);

 private:
  struct Loop;
  void serve(std::size_t thread);
  void stop();
  static void work(Loop& loop, std::size_t thread);

  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable done_;
  Loop* loop_ = nullptr;
  std::size_t round_ = 0;
  std::size_t busy_ = 0;  // workers inside the loop
  bool stopping_ = false;
  std::vector<std::thread> workers_;
};

}  // namespace gradwire
