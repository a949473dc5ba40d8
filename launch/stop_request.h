// Ctrl-C, and SIGTERM of a scheduler, as a wish that a long command can look at. While an object
// lives, the first SIGINT or SIGTERM is noted; a second SIGINT ends the program as usual. One
// object at a time, on the main thread.
#pragma once

#include <signal.h>

#include "gradwire/core/error.h"

namespace gradwire::launch {

// Somebody asked the command to stop, and everything that it needs to go on is on disk. The message
// is empty where another process reports.
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
