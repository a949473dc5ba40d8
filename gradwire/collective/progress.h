// What runs on the progress thread, and the thread itself. Jobs run one after another in the order
// in which they were queued; when there is none, the thread keeps the peers informed. Thread-safe.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "gradwire/collective/agreement.h"
#include "gradwire/collective/communicator.h"
#include "gradwire/collective/piece_threads.h"
#include "gradwire/transport/presence.h"
#include "gradwire/transport/transport.h"

namespace gradwire {

// What a job works with.
struct PeerLinks {
  Transport& transport;
  Presence& presence;
  Agreement& agreement;
  std::uint64_t run;
};

class Job {
 public:
  virtual ~Job() = default;

  // May throw. A PeerError ends the communicator; everything else is this rank's own failure, of
  // which the peers are told.
  virtual void work(PeerLinks& links) = 0;

 private:
  friend class Communicator::Impl;
  bool is_queued_ = false;
  std::exception_ptr failure_;
};

class Communicator::Impl {
 public:
  Impl(std::unique_ptr<Transport> transport, const CommunicatorOptions& options);
  ~Impl();

  // The job must stay until it was waited for.
  void queue(Job& job);
  // Throws what the job threw.
  void wait(Job& job);

  // Runs on the progress thread, and waits.
  void call(const std::function<void(PeerLinks&)>& task);

  void close();

  // For exchanges: a number for each of them, in the order in which they are made.
  std::uint32_t take_exchange_number() { return exchanges_++; }

  // The threads that encode and decode, for one exchange at a time. Started once, before the first
  // exchange is made.
  void start_threads(std::size_t count) { threads_ = std::make_unique<PieceThreads>(count); }
  PieceThreads& threads() { return *threads_; }

  // The rates of all ranks' links, where they are known. Set once, as start_threads().
  void set_links(std::vector<LinkRate> rates) { rates_ = std::move(rates); }
  std::span<const LinkRate> links() const { return rates_; }

  const Transport& transport() const { return *transport_; }
  std::uint64_t run() const { return run_; }

 private:
  void serve();
  void execute(Job& job);
  void tick();
  std::exception_ptr first_cause(const PeerError& error);

  const std::uint64_t run_;
  std::unique_ptr<Transport> transport_;
  Presence presence_;
  Agreement agreement_;
  PeerLinks links_;
  std::uint32_t exchanges_ = 0;
  std::unique_ptr<PieceThreads> threads_;
  std::vector<LinkRate> rates_;

  std::mutex mutex_;
  std::condition_variable wake_;  // the progress thread
  std::condition_variable done_;  // who waits for a job
  std::vector<Job*> jobs_;
  std::exception_ptr failure_;  // it is over, and why
  bool is_closed_ = false;
  bool is_stopping_ = false;
  std::thread thread_;
};

}  // namespace gradwire
