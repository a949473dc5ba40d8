#include "gradwire/transport/sigpipe_guard.h"

#include <pthread.h>
#include <signal.h>

#include <cerrno>
#include <ctime>

namespace gradwire {
namespace {

sigset_t sigpipe_alone() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGPIPE);
  return set;
}

}  // namespace

SigpipeGuard::SigpipeGuard() {
  const sigset_t sigpipe = sigpipe_alone();
  sigset_t before;
  sigemptyset(&before);
  pthread_sigmask(SIG_BLOCK, &sigpipe, &before);
  was_blocked_ = sigismember(&before, SIGPIPE) == 1;
}

// A signal that came meanwhile is pending, and would be delivered when it is let through again.
SigpipeGuard::~SigpipeGuard() {
  if (was_blocked_) return;
  const int error = errno;
  const sigset_t sigpipe = sigpipe_alone();
  const timespec now{};
  while (sigtimedwait(&sigpipe, nullptr, &now) < 0 && errno == EINTR) {
  }
  pthread_sigmask(SIG_UNBLOCK, &sigpipe, nullptr);
  errno = error;
}

}  // namespace gradwire
