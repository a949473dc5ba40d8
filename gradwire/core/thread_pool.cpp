#include "gradwire/core/thread_pool.h"

#include <atomic>
#include <exception>
#include <string>
#include <system_error>

#include "gradwire/core/error.h"

namespace gradwire {

struct ThreadPool::Loop {
  const std::function<void(std::size_t, std::size_t)>& task;
  std::size_t count;
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  std::exception_ptr first_failure;
};

ThreadPool::ThreadPool(std::size_t threads) {
  if (threads == 0) throw Error("a thread pool needs at least one thread: the caller's own");
  workers_.reserve(threads - 1);
  for (std::size_t thread = 1; thread < threads; ++thread) {
    try {
      workers_.emplace_back([this, thread] { serve(thread); });
    } catch (const std::system_error& error) {
      stop();
      throw Error("cannot start " + std::to_string(threads) + " threads, only " +
                  std::to_string(thread) + ": " + error.what() + "; ask for fewer");
    }
  }
}

ThreadPool::~ThreadPool() { stop(); }

void ThreadPool::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::run(std::size_t count, const std::function<void(std::size_t, std::size_t)>& task) {
  Loop loop{.task = task, .count = count, .mutex = {}, .first_failure = {}};
  {
    const std::lock_guard lock(mutex_);
    if (loop_ != nullptr || busy_ != 0) {
      throw Error("a thread pool was asked for a second loop before its first was over");
    }
    loop_ = &loop;
    ++round_;
  }
  wake_.notify_all();
  work(loop, 0);
  {
    // Nothing is left to take: a thread that was slow to wake is not waited for.
    std::unique_lock lock(mutex_);
    loop_ = nullptr;
    done_.wait(lock, [this] { return busy_ == 0; });
  }
  if (loop.first_failure) std::rethrow_exception(loop.first_failure);
}

void ThreadPool::serve(std::size_t thread) {
  std::size_t rounds_seen = 0;
  while (true) {
    Loop* loop = nullptr;
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [&] { return stopping_ || round_ != rounds_seen; });
      if (stopping_) return;
      rounds_seen = round_;
      if (loop_ == nullptr) continue;
      loop = loop_;
      ++busy_;
    }
    work(*loop, thread);
    {
      const std::lock_guard lock(mutex_);
      if (--busy_ == 0) done_.notify_one();
    }
  }
}

void ThreadPool::work(Loop& loop, std::size_t thread) {
  for (std::size_t i = loop.next++; i < loop.count; i = loop.next++) {
    try {
      loop.task(i, thread);
    } catch (...) {
      const std::lock_guard lock(loop.mutex);
      if (!loop.first_failure) loop.first_failure = std::current_exception();
    }
  }
}

}  // namespace gradwire
