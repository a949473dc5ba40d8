// Accordion: which layers are in a critical phase. A layer is, if the norm of its gradient,
// accumulated over a period, differs from that of the period before by at least a threshold of it.
// Critical layers are sent with the high setting, all others with the low one. Value types.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gradwire/codec/spec.h"
#include "gradwire/method/lgreco/layer_candidates.h"
#include "gradwire/method/state.h"

namespace gradwire {

struct AccordionOptions {
  Candidate low;
  Candidate high;
  double threshold = 0.5;

  // "topk, low=1%, high=10%": the arguments of accordion in a canonical spec.
  std::string arguments() const;
};

// The first argument, a family, and low=, high= and threshold=. Throws SpecError.
AccordionOptions read_accordion(StageReader& arguments);

class CriticalPhases {
 public:
  explicit CriticalPhases(double threshold) : threshold_(threshold) {}

  // Norms by layer, of the period that is over. In the first one all layers are critical.
  std::vector<bool> look(std::span<const double> norms);

  // `names` of the layers.
  void save(std::span<const std::string> names, MethodState& state) const;
  void load(std::span<const std::string> names, const MethodState& state);

 private:
  double threshold_;
  std::vector<double> before_;  // norms; empty before the first period is over
};

}  // namespace gradwire
