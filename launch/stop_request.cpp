#include "launch/stop_request.h"

#include <atomic>

namespace gradwire::launch {
namespace {

std::atomic<bool> stop_wanted{false};
static_assert(std::atomic<bool>::is_always_lock_free);  // so that a signal handler may use it

void note_stop(int /*signal*/) { stop_wanted.store(true); }

}  // namespace

StopRequest::StopRequest() {
  stop_wanted.store(false);
  struct sigaction action = {};
  action.sa_handler = note_stop;
  sigaction(SIGTERM, &action, &terminate_before_);
  action.sa_flags = static_cast<int>(SA_RESETHAND);  // only the first one is caught
  sigaction(SIGINT, &action, &interrupt_before_);
}

StopRequest::~StopRequest() {
  sigaction(SIGINT, &interrupt_before_, nullptr);
  sigaction(SIGTERM, &terminate_before_, nullptr);
  stop_wanted.store(false);
}

bool StopRequest::is_made() { return stop_wanted.load(); }

}  // namespace gradwire::launch
