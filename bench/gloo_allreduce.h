// Gloo's ring all-reduce of floats: the yardstick of `bench allreduce`, where the build has Gloo
// (GRADWIRE_GLOO). It has connections of its own. For one thread at a time.
#pragma once

#include <memory>
#include <span>

#include "gradwire/collective/communicator.h"

namespace gradwire::bench {

class GlooAllreduce {
 public:
  // Connects all ranks of the communicator, which call it at once. Null where the build has no
  // Gloo, and where ranks are no processes that reach one another over TCP. Throws Error.
  static std::unique_ptr<GlooAllreduce> connect(Communicator& communicator);

  virtual ~GlooAllreduce() = default;

  // Replaces the values with their sum over all ranks. Throws Error.
  virtual void run(std::span<float> values) = 0;
};

}  // namespace gradwire::bench
