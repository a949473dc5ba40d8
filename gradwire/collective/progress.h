// What runs on the progress thread, and the thread itself. Jobs begin in the order in which they
// were queued. Several exchanges run at once: the thread gives a turn to the oldest job that has
// something to do. All ranks queue their exchanges in the same order, so they all prefer the same
// one. When there is no job, the thread keeps the peers informed. Thread-safe.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "gradwire/collective/agreement.h"
#include "gradwire/collective/communicator.h"
#include "gradwire/collective/host_groups.h"
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

// What a job has done in its turn.
enum class Turn {
  worked,   // it may have more to do
  waiting,  // it has nothing to do before a transfer comes further
  finished,
};

class Job {
 public:
  virtual ~Job() = default;

  // All of these are called on the progress thread, and may throw. A PeerError ends the
  // communicator; everything else is this rank's own failure, of which the peers are told.

  // The first call.
  virtual void begin(PeerLinks& /*links*/) {}
  // Does one piece of work, if there is some to do now. Only a job that runs alone may wait.
  virtual Turn advance(PeerLinks& links) = 0;
  // Work that can be done later, too: for the time in which all jobs wait. False: there is none.
  virtual bool work_ahead() { return false; }

 protected:
  // Jobs of a communicator with the same tag do not run at once, so the frames of one do not get to
  // another.
  static constexpr std::uint16_t kAlone = 0;  // nothing else runs at the same time
  explicit Job(std::uint16_t tag) : tag_(tag) {}

  // The time of the progress thread since begin(): that of the job's turns, and the time in which
  // all jobs waited and this one was the oldest. So the seconds of all jobs add up to real time.
  double seconds() const { return seconds_; }

 private:
  friend class Communicator::Impl;
  const std::uint16_t tag_;
  PeerLinks* links_ = nullptr;  // of the communicator that it was queued on
  double seconds_ = 0;
  bool is_queued_ = false;  // until it has finished
  std::exception_ptr failure_;
};

// What a rank does for the others between its own calls. It is served until the communicator is
// closed, and gets turns before all jobs do, but none while a job runs alone.
class Service {
 public:
  using Time = std::chrono::steady_clock::time_point;

  virtual ~Service() = default;

  // Both are called on the progress thread; what they throw counts as thrown by a job. Does one
  // piece of work; false if there is none now.
  virtual bool take_turn(PeerLinks& links) = 0;
  // When there will be work even if nothing comes.
  virtual std::optional<Time> due() const = 0;
};

class Communicator::Impl {
 public:
  Impl(std::unique_ptr<Transport> transport, const CommunicatorOptions& options);
  // Of some of the ranks of `whole`, which must outlive it. Jobs run on the whole's progress
  // thread.
  Impl(Impl& whole, const std::vector<std::size_t>& members, std::uint16_t group);
  ~Impl();

  // The job must stay until it was waited for.
  void queue(Job& job);
  // Throws what the job threw.
  void wait(Job& job);

  // Runs on the progress thread, and waits.
  void call(const std::function<void(PeerLinks&)>& task);

  void close();

  // Begins to serve it, on the progress thread.
  Service& serve(std::unique_ptr<Service> service);

  // For exchanges: a number for each of them, in the order in which they are made.
  std::uint32_t take_exchange_number() { return exchanges_++; }
  // What tells the messages of an exchange from those of others that run at the same time.
  static std::uint16_t exchange_tag(std::uint32_t number) {
    return static_cast<std::uint16_t>(1 + number % Tag::kExchangeMax);
  }

  // The threads that encode and decode, for one turn at a time. Started once, before the first
  // exchange is made.
  void start_threads(std::size_t count) { threads_ = std::make_unique<PieceThreads>(count); }
  PieceThreads& threads() { return whole_ != nullptr ? whole_->threads() : *threads_; }

  // The rates of all ranks' links, where they are known. Set once, as start_threads().
  void set_links(std::vector<LinkRate> rates) { rates_ = std::move(rates); }
  std::span<const LinkRate> links() const { return rates_; }

  const Transport& transport() const { return *transport_; }
  std::uint64_t run() const { return run_; }

  // Where hosts have several ranks. Set once, as start_threads().
  void set_hosts(std::unique_ptr<HostGroups> hosts);
  HostGroups* hosts() { return hosts_.get(); }

 private:
  void serve();
  Service& serve(std::unique_ptr<Service> service, PeerLinks& links);
  void begin_jobs();
  Job* take_next();
  bool may_begin(const Job& job) const;
  void advance_jobs();
  bool give_turns();
  bool work_ahead();
  bool give_services_turns();
  bool is_serving() const { return !services_.empty() && !is_over_; }
  void wait_for_transfers();
  void end_jobs(const std::exception_ptr& failure);
  void end_job(Job& job, std::exception_ptr failure);
  void tick();
  std::exception_ptr own_failure(const std::exception& error);
  std::exception_ptr first_cause(const PeerError& error);

  void queue(Job& job, PeerLinks& links);

  Impl* const whole_ = nullptr;  // of which this is a group
  const std::uint64_t run_;
  std::unique_ptr<Transport> transport_;
  Presence presence_;
  std::unique_ptr<Agreement> agreement_;
  std::optional<PeerLinks> links_;
  std::uint32_t exchanges_ = 0;
  std::unique_ptr<PieceThreads> threads_;
  std::vector<LinkRate> rates_;
  std::unique_ptr<HostGroups> hosts_;

  std::mutex mutex_;
  std::condition_variable wake_;  // the progress thread
  std::condition_variable done_;  // who waits for a job
  std::vector<Job*> queued_;
  std::exception_ptr failure_;  // it is over, and why
  bool is_closed_ = false;
  bool is_stopping_ = false;

  // Of the progress thread alone.
  std::vector<Job*> running_;                        // oldest first
  std::chrono::steady_clock::time_point last_work_;  // of any job
  struct Served {
    PeerLinks& links;
    std::unique_ptr<Service> service;
  };
  std::vector<Served> services_;
  bool is_over_ = false;  // for services: the peers leave, or something has failed

  std::thread thread_;
};

}  // namespace gradwire
