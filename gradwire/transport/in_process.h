// Ranks that are threads of one process. The bytes go from memory to memory; there is nothing to
// configure. The world is shared by its ranks and may be dropped once they have been made.
#pragma once

#include <cstddef>
#include <memory>

#include "gradwire/transport/transport.h"

namespace gradwire {

class InProcessWorld {
 public:
  explicit InProcessWorld(std::size_t size);
  ~InProcessWorld();

  // One transport for each rank, each for its own thread. May be called from any thread.
  std::unique_ptr<Transport> join(std::size_t rank);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace gradwire
