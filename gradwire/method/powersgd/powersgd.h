// powersgd(rank=r): gradients as products of two thin factors (one step of the power method, warm
// from step to step), with an error memory. It averages twice a step, so it is a method and not a
// codec:
//
//   M_i = g_i + e_i;  P = mean M_i Q, orthonormalised;  Q_i = M_i^T P;  Q = mean Q_i
//   out = P Q^T;  e_i = M_i - P Q_i^T
//
// A tensor of two or more dimensions is a matrix, the first one times the rest. Those of one
// dimension, and those that are too small to gain by it, are averaged as they are, without memory.
// Values of 2^96 and beyond poison a matrix as infinities do: all that is made of others is finite.
//
// The mean is exact on every topology. The floating-point work is done by the caller's thread, in
// submit() and finish().
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "gradwire/codec/spec.h"
#include "gradwire/collective/communicator.h"
#include "gradwire/method/method.h"

namespace gradwire {

struct PowerSgdOptions {
  std::size_t rank = 4;  // at least 1; less where a matrix has fewer rows or columns
  // Instead of it, by tensor: 0 averages a tensor as it is.
  std::vector<std::size_t> ranks = {};
};

// The argument of a stage that names it, and the canonical text. Throws SpecError.
std::size_t read_factor_rank(StageReader& stage);
std::string powersgd_spec(std::size_t rank);

// Throws as make_method does.
std::unique_ptr<Method> make_powersgd(Communicator& communicator, std::vector<MethodTensor> tensors,
                                      const PowerSgdOptions& powersgd,
                                      const MethodOptions& options);

}  // namespace gradwire
