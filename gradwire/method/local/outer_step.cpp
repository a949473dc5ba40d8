#include "gradwire/method/local/outer_step.h"

#include "gradwire/codec/spec.h"
#include "gradwire/kernel/combine.h"

namespace gradwire {

std::string OuterStep::spec() const {
  if (momentum == 0) return "sgd(" + format_number(rate) + ")";
  return "nesterov(" + format_number(rate) + ", " + format_number(momentum) + ")";
}

void OuterStep::add_momentum(std::span<float> mean, std::span<float> memory) const {
  if (memory.empty()) return;
  const auto mu = static_cast<float>(momentum);
  kernel::combine(mu, memory, 1, mean, memory);
  kernel::combine(1, mean, mu, memory, mean);
}

void OuterStep::move(std::span<float> model, std::span<float> mean, std::span<float> memory) const {
  add_momentum(mean, memory);
  kernel::combine(1, model, -static_cast<float>(rate), mean, model);
}

void OuterStep::scale(std::span<float> mean, std::span<float> memory) const {
  add_momentum(mean, memory);
  kernel::combine(static_cast<float>(rate), mean, 0, mean, mean);
}

}  // namespace gradwire
