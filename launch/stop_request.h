// StopRequest: turns Ctrl-C, and the SIGTERM of a scheduler, into a flag that a long command polls.
// While an object lives, the first SIGINT or SIGTERM sets the flag; a second SIGINT ends the
// program as usual. One object at a time, on the main thread.
#pragma once

#include <signal.h>

#include "gradwire/core/error.h"

namespace gradwire::launch {

// The user stopped the command; a checkpoint to resume from is on disk. The message is empty in
// processes that do not report.
class Stopped : public Error {
 public:
  using Error::Error;
};

class StopRequest {
 public:
  StopRequest();
  ~StopRequest();
  StopRequest(const StopRequest&) = delete;
  StopRequest& operator=(const StopRequest&) = delete;

  // From any thread.
  static bool is_made();

 private:
  struct sigaction interrupt_before_ = {};
  struct sigaction terminate_before_ = {};
};

}  // namespace gradwire::launch
