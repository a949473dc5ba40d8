// Remote: asks another `gradwire watch`, somewhere else, where its runs are. For one thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "watch/run_state.h"

namespace gradwire::watch {

class Remote {
 public:
  Remote(std::string host, std::uint16_t port, std::string token);

  struct Answer {
    std::vector<RunState> runs;
    std::string hint;  // what to do while there is no run
  };
  // Throws Error if it does not answer, or not as gradwire watch does.
  Answer ask() const;

 private:
  std::string host_;
  std::uint16_t port_;
  std::string token_;
};

}  // namespace gradwire::watch
