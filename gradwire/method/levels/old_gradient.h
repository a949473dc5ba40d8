// OldGradient: the mean gradient of a host at an older model, for methods that compare gradients at
// two models. One rank of the host runs the method and asks; the others serve until it is done.
// Only for hosts whose first rank has all parts. Not thread-safe.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "gradwire/collective/host_groups.h"
#include "gradwire/collective/host_sum.h"
#include "gradwire/method/method.h"

namespace gradwire {

class OldGradient {
 public:
  // All ranks of all hosts call it. Throws StartError as HostSum does.
  OldGradient(HostGroups& groups, const std::vector<MethodTensor>& tensors);

  // This rank's side of a step: its gradient, and its weight among the ranks of its host.
  void begin(std::uint64_t step, float weight, GradientAt own);

  // The rank that asks: calls `take` for every tensor of the host's mean gradient.
  void ask(std::span<const std::span<const float>> parameters, const TakeGradient& take);
  // It asks no more in this step.
  void release();
  // The other ranks: computes what is asked for. Returns once they are released.
  void serve();

  void settle() noexcept { sum_.settle(); }

 private:
  // Whether it was asked for; then `parameters_` has the older model.
  bool is_asked(bool is_asking);
  void add_up(std::span<const std::span<const float>> parameters);

  HostSum sum_;
  std::vector<std::vector<float>> parameters_, gradients_;
  std::vector<std::span<float>> parameter_spans_, gradient_spans_;
  std::vector<std::span<const float>> model_;
  std::uint64_t step_ = 0;
  float weight_ = 1;
  GradientAt own_;
};

}  // namespace gradwire
