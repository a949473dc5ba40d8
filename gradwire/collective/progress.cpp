#include "gradwire/collective/progress.h"

#include <algorithm>

#include "gradwire/core/check.h"
#include "gradwire/core/stop_watch.h"

namespace gradwire {
namespace {

// A call as a job.
class Call final : public Job {
 public:
  explicit Call(const std::function<void(PeerLinks&)>& task) : Job(kAlone), task_(task) {}
  Turn advance(PeerLinks& links) override {
    task_(links);
    return Turn::finished;
  }

 private:
  const std::function<void(PeerLinks&)>& task_;
};

}  // namespace

Communicator::Impl::Impl(std::unique_ptr<Transport> transport, const CommunicatorOptions& options)
    : run_(options.run),
      transport_(std::move(transport)),
      presence_(*transport_, options.peer_timeout),
      agreement_(std::make_unique<Agreement>(*transport_, presence_)),
      links_(PeerLinks{.transport = *transport_,
                       .presence = presence_,
                       .agreement = *agreement_,
                       .run = options.run}),
      thread_([this] { serve(); }) {}

// The transport belongs to the progress thread, which makes the transfers of the agreement.
Communicator::Impl::Impl(Impl& whole, const std::vector<std::size_t>& members, std::uint16_t group)
    : whole_(&whole),
      run_(whole.run_),
      transport_(make_subgroup(*whole.transport_, members, group, GroupErrors::name_parent_ranks)),
      presence_(whole.presence_, members) {
  whole.call(
      [this](PeerLinks&) { agreement_ = std::make_unique<Agreement>(*transport_, presence_); });
  links_.emplace(PeerLinks{
      .transport = *transport_, .presence = presence_, .agreement = *agreement_, .run = run_});
  for (const std::size_t member : members) {
    if (!whole.rates_.empty()) rates_.push_back(whole.rates_[member]);
  }
}

Communicator::Impl::~Impl() {
  if (whole_ != nullptr) return;
  if (!is_closed_) {
    try {
      call([](PeerLinks& links) {
        links.presence.fail(links.transport.rank(), "it gave up: its own error message says why");
      });
    } catch (const Error&) {  // it was over already
    }
  }
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  wake_.notify_one();
  thread_.join();
  services_.clear();  // they use the transport
  hosts_.reset();     // its groups do, too
}

void Communicator::Impl::queue(Job& job) { (whole_ ? *whole_ : *this).queue(job, *links_); }

void Communicator::Impl::queue(Job& job, PeerLinks& links) {
  {
    const std::lock_guard lock(mutex_);
    GW_CHECK(!job.is_queued_);
    job.links_ = &links;
    job.is_queued_ = true;
    job.failure_ = nullptr;
    queued_.push_back(&job);
  }
  wake_.notify_one();
  transport_->wake();
}

void Communicator::Impl::wait(Job& job) {
  if (whole_ != nullptr) return whole_->wait(job);
  std::unique_lock lock(mutex_);
  done_.wait(lock, [&job] { return !job.is_queued_; });
  if (job.failure_) std::rethrow_exception(job.failure_);
}

void Communicator::Impl::call(const std::function<void(PeerLinks&)>& task) {
  Call job(task);
  queue(job);
  wait(job);
}

void Communicator::Impl::close() {
  if (whole_ != nullptr) return;
  call([this](PeerLinks& links) {
    is_over_ = true;
    links.presence.leave();
  });
  const std::lock_guard lock(mutex_);
  is_closed_ = true;
  failure_ = std::make_exception_ptr(Error("the communicator is closed"));
}

void Communicator::Impl::set_hosts(std::unique_ptr<HostGroups> hosts) { hosts_ = std::move(hosts); }

Service& Communicator::Impl::serve(std::unique_ptr<Service> service) {
  return (whole_ ? *whole_ : *this).serve(std::move(service), *links_);
}

Service& Communicator::Impl::serve(std::unique_ptr<Service> service, PeerLinks& links) {
  services_.push_back({.links = links, .service = std::move(service)});
  return *services_.back().service;
}

void Communicator::Impl::serve() {
  std::unique_lock lock(mutex_);
  while (!is_stopping_) {
    if (queued_.empty() && running_.empty() && !is_serving()) {
      wake_.wait_for(lock, presence_.tick_interval());
      if (!queued_.empty() || failure_) continue;
      lock.unlock();
      tick();
      lock.lock();
      continue;
    }
    lock.unlock();
    advance_jobs();
    lock.lock();
  }
}

// A failure of one job ends all of them, unless it is a StartError: all ranks have seen the same
// then, and can continue.
void Communicator::Impl::advance_jobs() {
  try {
    begin_jobs();
    if (give_services_turns() || give_turns() || work_ahead()) {
      last_work_ = std::chrono::steady_clock::now();
      presence_.tick();
    } else if (!running_.empty() || is_serving()) {
      wait_for_transfers();
    }
  } catch (const PeerError& error) {
    end_jobs(first_cause(error));
  } catch (const std::exception& error) {
    end_jobs(own_failure(error));
  }
}

void Communicator::Impl::begin_jobs() {
  while (Job* const job = take_next()) {
    if (running_.empty()) last_work_ = std::chrono::steady_clock::now();
    running_.push_back(job);
    job->seconds_ = 0;
    const StopWatch watch(job->seconds_);
    job->begin(*job->links_);
  }
}

// The next job that may begin, or null.
Job* Communicator::Impl::take_next() {
  const std::lock_guard lock(mutex_);
  if (failure_) {
    for (Job* const job : queued_) {
      job->failure_ = failure_;
      job->is_queued_ = false;
    }
    queued_.clear();
    done_.notify_all();
  }
  if (queued_.empty() || !may_begin(*queued_.front())) return nullptr;
  Job* const job = queued_.front();
  queued_.erase(queued_.begin());
  return job;
}

bool Communicator::Impl::may_begin(const Job& job) const {
  if (running_.empty()) return true;
  return job.tag_ != Job::kAlone && std::ranges::none_of(running_, [&](const Job* other) {
           return other->tag_ == Job::kAlone ||
                  (other->tag_ == job.tag_ && other->links_ == job.links_);
         });
}

// True if a job has worked. Then the oldest is asked again before the others are.
bool Communicator::Impl::give_turns() {
  for (auto job = running_.begin(); job != running_.end(); ++job) {
    std::exception_ptr start_error;
    Turn turn = Turn::finished;
    try {
      const StopWatch watch((*job)->seconds_);
      turn = (*job)->advance(*(*job)->links_);
    } catch (const StartError&) {
      start_error = std::current_exception();
    }
    if (turn == Turn::waiting) continue;
    if (turn == Turn::finished) {
      Job& finished = **job;
      running_.erase(job);
      end_job(finished, std::move(start_error));
    }
    return true;
  }
  return false;
}

bool Communicator::Impl::work_ahead() {
  return std::ranges::any_of(running_, [](Job* job) {
    const StopWatch watch(job->seconds_);
    return job->work_ahead();
  });
}

bool Communicator::Impl::give_services_turns() {
  return is_serving() && std::ranges::any_of(services_, [](Served& served) {
           return served.service->take_turn(served.links);
         });
}

void Communicator::Impl::wait_for_transfers() {
  const auto now = std::chrono::steady_clock::now();
  std::chrono::microseconds time = presence_.tick_interval();
  if (is_serving()) {
    for (const Served& served : services_) {
      const auto due = served.service->due();
      if (!due) continue;
      const auto left = std::chrono::ceil<std::chrono::microseconds>(*due - now);
      time = std::clamp(left, std::chrono::microseconds(0), time);
    }
  }
  if (running_.empty()) return presence_.await_any(now, time);  // nobody waits
  const StopWatch watch(running_.front()->seconds_);
  presence_.await_any(last_work_, time);
}

void Communicator::Impl::end_jobs(const std::exception_ptr& failure) {
  is_over_ = true;
  {
    const std::lock_guard lock(mutex_);
    if (!failure_) failure_ = failure;
  }
  for (Job* const job : running_) end_job(*job, failure);
  running_.clear();
}

// Its owner may destroy it now. The failure is given away: the thread that waits for the job is
// then the last one that uses it.
void Communicator::Impl::end_job(Job& job, std::exception_ptr failure) {
  {
    const std::lock_guard lock(mutex_);
    job.failure_ = std::move(failure);
    job.is_queued_ = false;
  }
  done_.notify_all();
}

void Communicator::Impl::tick() {
  try {
    presence_.tick();
  } catch (const PeerError& error) {
    const std::exception_ptr failure = first_cause(error);
    const std::lock_guard lock(mutex_);
    failure_ = failure;
  }
}

// The error that is being handled, of which the peers are told.
std::exception_ptr Communicator::Impl::own_failure(const std::exception& error) {
  const std::exception_ptr failure = std::current_exception();
  try {
    presence_.fail(transport_->rank(), error.what());
  } catch (const PeerError&) {  // the peers know; here, the error itself is the better message
  }
  return failure;
}

// The error that is being handled, if it is over already; otherwise what ends it now.
std::exception_ptr Communicator::Impl::first_cause(const PeerError& error) {
  if (presence_.is_over()) return std::current_exception();
  try {
    presence_.lose(error);
  } catch (const PeerError&) {
    return std::current_exception();
  }
}

}  // namespace gradwire
