// lgreco(family): each layer has its own setting. From time to time the ranks measure the error of
// each candidate setting on each layer's gradients, accumulated over the last steps, and on its
// error memory. Then they choose the cheapest settings whose total error is at most that of the
// uniform setting. Small tensors and those of one dimension are averaged without compression.
//
// accordion(family): one of two settings for each layer, by whether its gradient changes much. It
// is a plan of another kind, made and carried out in the same way.
//
// With a time budget the roles change: the plan has the smallest error whose exchange is hidden by
// the computation. Such a plan depends on measured times.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gradwire/collective/communicator.h"
#include "gradwire/method/lgreco/accordion.h"
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
  bool is_warmup_exact = false;  // warm-up steps are exact; otherwise they use the uniform setting
  std::size_t period = 200;      // steps between plans
  std::size_t window = 4;        // steps whose gradients are accumulated for statistics
  double guard = 2;              // plan again when the error is wrong by this factor; 0: never
  bool has_time_budget = false;
  // The limit is the error of Accordion's choices instead of that of the uniform setting;
  // statistics are of whole periods then.
  std::optional<AccordionOptions> accordion = {};
  bool is_accordion = false;  // its choices are the plan: nothing else is planned
};

// Throws as make_method does.
std::unique_ptr<Method> make_lgreco(Communicator& communicator, std::vector<MethodTensor> tensors,
                                    const LgrecoOptions& lgreco, const MethodOptions& options);

}  // namespace gradwire
