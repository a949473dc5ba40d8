#include "gradwire/method/safe_step.h"

#include <cmath>

#include "gradwire/collective/ring_exchange.h"

namespace gradwire {

using Kind = Guarantee::Kind;

StepNoise step_noise(const Codec& up, const Codec& down, const StepFacts& facts) {
  StepNoise noise{.up = up.guarantee(facts.elements)};
  bool is_shared = up.shares_noise();
  if (rounds_at_every_hop(facts.topology, up) && noise.up.kind == Kind::unbiased) {
    noise.up.constant = ring_omega(noise.up.constant, facts.ranks);
    is_shared = true;
  }
  noise.averaged_over = is_shared ? 1 : static_cast<double>(facts.workers);
  if (traits_of(facts.topology).has_owners && !down.is_plain())
    noise.down = down.guarantee(facts.elements);
  return noise;
}

double usual_step(const StepFacts& facts) { return 1 / facts.smoothness; }

std::optional<double> contraction(const Guarantee& guarantee) {
  if (guarantee.kind == Kind::contractive) return guarantee.constant;
  if (guarantee.kind == Kind::none) return std::nullopt;
  const double omega = guarantee.constant;
  return omega < 1 ? 1 - omega : 1 / (1 + omega);
}

Ef21Constants::Ef21Constants(double delta) : t(1 - std::sqrt(1 - delta)), b((1 - delta) / t) {}

double Ef21Constants::factor() const { return 1 + std::sqrt(2 * b / t); }

}  // namespace gradwire
