// DenseLayers: averages the tensors that lgc does not code. They are many and small, so that they
// travel as one: what a frame and its code take at the least is then paid once. Without memory. For
// one thread at a time; the communicator must outlive it.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "gradwire/collective/communicator.h"
#include "gradwire/method/method.h"

namespace gradwire {

class DenseLayers {
 public:
  // All ranks at once. Throws as make_method does.
  DenseLayers(Communicator& communicator, const std::vector<MethodTensor>& tensors,
              const MethodOptions& options);

  // As of a method. Gradients of all its tensors become means.
  void begin(const StepContext& context);
  void submit(std::span<float> gradient);
  MethodReport finish();

 private:
  const std::size_t tensors_;
  std::vector<float> joined_;
  std::unique_ptr<Method> method_;           // null where there is nothing to send
  std::vector<std::span<float>> gradients_;  // of this step
};

}  // namespace gradwire
