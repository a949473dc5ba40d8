// While it lives, writing to a connection that the peer has closed does not send SIGPIPE to this
// thread: Gloo writes without MSG_NOSIGNAL, and the signal would end the program. Threads that are
// started meanwhile are kept from it for good. Costs three system calls.
#pragma once

namespace gradwire {

class SigpipeGuard {
 public:
  SigpipeGuard();
  ~SigpipeGuard();
  SigpipeGuard(const SigpipeGuard&) = delete;
  SigpipeGuard& operator=(const SigpipeGuard&) = delete;

 private:
  bool was_blocked_;
};

}  // namespace gradwire
