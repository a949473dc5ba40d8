#include "gradwire/collective/progress.h"

#include "gradwire/core/check.h"

namespace gradwire {
namespace {

// A call as a job.
class Call final : public Job {
 public:
  explicit Call(const std::function<void(PeerLinks&)>& task) : task_(task) {}
  void work(PeerLinks& links) override { task_(links); }

 private:
  const std::function<void(PeerLinks&)>& task_;
};

}  // namespace

Communicator::Impl::Impl(std::unique_ptr<Transport> transport, const CommunicatorOptions& options)
    : run_(options.run),
      transport_(std::move(transport)),
      presence_(*transport_, options.peer_timeout),
      agreement_(*transport_, presence_),
      links_{.transport = *transport_,
             .presence = presence_,
             .agreement = agreement_,
             .run = options.run},
      thread_([this] { serve(); }) {}

Communicator::Impl::~Impl() {
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
}

void Communicator::Impl::queue(Job& job) {
  {
    const std::lock_guard lock(mutex_);
    GW_CHECK(!job.is_queued_);
    job.is_queued_ = true;
    job.failure_ = nullptr;
    jobs_.push_back(&job);
  }
  wake_.notify_one();
}

void Communicator::Impl::wait(Job& job) {
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
  call([](PeerLinks& links) { links.presence.leave(); });
  const std::lock_guard lock(mutex_);
  is_closed_ = true;
  failure_ = std::make_exception_ptr(Error("the communicator is closed"));
}

void Communicator::Impl::serve() {
  std::unique_lock lock(mutex_);
  while (!is_stopping_) {
    if (jobs_.empty()) {
      wake_.wait_for(lock, presence_.tick_interval());
      if (!jobs_.empty() || failure_) continue;
      lock.unlock();
      tick();
      lock.lock();
      continue;
    }
    Job& job = *jobs_.front();
    jobs_.erase(jobs_.begin());
    job.failure_ = failure_;
    if (!failure_) {
      lock.unlock();
      execute(job);
      lock.lock();
    }
    job.is_queued_ = false;
    done_.notify_all();
  }
}

void Communicator::Impl::execute(Job& job) {
  std::exception_ptr failure;
  bool is_over = true;
  try {
    job.work(links_);
    return;
  } catch (const StartError&) {  // all ranks have seen the same, and can go on
    failure = std::current_exception();
    is_over = false;
  } catch (const PeerError& error) {
    failure = first_cause(error);
  } catch (const std::exception& error) {
    failure = std::current_exception();
    try {
      presence_.fail(transport_->rank(), error.what());
    } catch (const PeerError&) {  // the peers know; here, the error itself is the better message
    }
  }
  const std::lock_guard lock(mutex_);
  job.failure_ = failure;
  if (is_over) failure_ = failure;
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
