#include "gradwire/transport/sigpipe_guard.h"

#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

#include "gradwire/core/check.h"
#include "gradwire/transport/descriptor.h"
#include "gtest/gtest.h"

namespace gradwire {
namespace {

bool is_blocked() {
  sigset_t now;
  pthread_sigmask(SIG_SETMASK, nullptr, &now);
  return sigismember(&now, SIGPIPE) == 1;
}

// The signal would end the test.
TEST(SigpipeGuard, WritingToAClosedConnectionIsOnlyAnError) {
  int ends[2];
  GW_CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
  const Descriptor ours(ends[0]);
  close(ends[1]);
  for (int i = 0; i < 3; ++i) {
    const SigpipeGuard guard;
    EXPECT_EQ(write(ours.get(), "x", 1), -1);
    EXPECT_EQ(errno, EPIPE);
  }
  EXPECT_FALSE(is_blocked());
}

TEST(SigpipeGuard, LeavesTheMaskAsItWas) {
  {
    const SigpipeGuard outer;
    { const SigpipeGuard inner; }
    EXPECT_TRUE(is_blocked());
  }
  EXPECT_FALSE(is_blocked());
}

}  // namespace
}  // namespace gradwire
