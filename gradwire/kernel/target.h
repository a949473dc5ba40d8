// Vector targets: the instruction sets that the kernels are compiled for, such as avx2. Highway
// picks the best one that the machine has; a benchmark can hold the kernels to another one.
#pragma once

#include <string>
#include <string_view>

namespace gradwire::kernel {

// The one that the kernels use now. Names are Highway's, in lower case.
std::string target_in_use();

// Those that this machine can run, best first: "avx3, avx2, sse4".
std::string target_list();

// Holds all kernels of the process to one target, until it is destroyed. Results do not change,
// only speed. No kernel may run while it is made or destroyed, and there is one at a time.
class HeldTarget {
 public:
  // An empty name holds nothing. Throws Error for a target that this machine does not have.
  explicit HeldTarget(std::string_view name);
  ~HeldTarget();
  HeldTarget(const HeldTarget&) = delete;
  HeldTarget& operator=(const HeldTarget&) = delete;
};

}  // namespace gradwire::kernel
