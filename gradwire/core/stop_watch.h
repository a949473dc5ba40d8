// StopWatch: adds up the time of the scopes in which it is held, in seconds.
#pragma once

#include <chrono>

namespace gradwire {

class StopWatch {
 public:
  explicit StopWatch(double& seconds) : seconds_(seconds) {}
  ~StopWatch() {
    seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }
  StopWatch(const StopWatch&) = delete;
  StopWatch& operator=(const StopWatch&) = delete;

 private:
  double& seconds_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace gradwire
