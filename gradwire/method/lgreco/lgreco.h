// lgreco(family): every layer its own parameter. From time to time the ranks look at what their
// gradients, accumulated over the last steps, and the errors that they carry would lose by each
// candidate, and take the cheapest choice that loses no more than the uniform setting would.
// Tensors of one dimension and small ones are averaged as they are.
//
// With a time budget it is the other way round: the least error whose exchange hides behind the
// computation, by what was measured. Such a choice depends on clocks.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "gradwire/collective/communicator.h"
#include "gradwire/method/lgreco/layer_candidates.h"
#include "gradwire/method/lgreco/layer_plan.h"
#include "gradwire/method/method.h"

namespace gradwire {

struct LgrecoOptions {
  std::string spec;  // the canonical one
  Candidates candidates;
  ErrorMeasure measure = ErrorMeasure::lag;
  double alpha = 1;
  std::size_t warmup = 20;       // steps before the first plan
  bool is_warmup_exact = false;  // these are averaged as they are; otherwise by the uniform setting
  std::size_t period = 200;      // steps from a plan to the next
  std::size_t window = 4;        // steps whose gradients are accumulated for statistics
  double guard = 2;              // plan again when the error is this many times off; 0: never
  bool has_time_budget = false;
};

// Throws as make_method does.
std::unique_ptr<Method> make_lgreco(Communicator& communicator, std::vector<MethodTensor> tensors,
                                    const LgrecoOptions& lgreco, const MethodOptions& options);

}  // namespace gradwire
