#include "convex/step_size.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <system_error>

#include "gradwire/codec/codec.h"
#include "gradwire/codec/spec.h"
#include "gradwire/collective/ring_exchange.h"
#include "gradwire/core/error.h"

namespace gradwire::convex {
namespace {

using Kind = Guarantee::Kind;

MethodNoise::Family family_of(std::string_view name) {
  if (name == "direct") return MethodNoise::Family::direct;
  if (name == "diana") return MethodNoise::Family::diana;
  if (name == "ef21") return MethodNoise::Family::ef21;
  if (name == "lasg" || name == "sasg") return MethodNoise::Family::lazy;
  return MethodNoise::Family::other;
}

bool is_method(std::string_view name) {
  constexpr std::string_view kOthers[] = {"ef", "dgc", "powersgd", "lgreco", "lgc"};
  return family_of(name) != MethodNoise::Family::other ||
         std::ranges::find(kOthers, name) != std::end(kOthers);
}

// The texts of a method's codecs; empty where there is none.
struct MethodParts {
  MethodNoise::Family family = MethodNoise::Family::direct;
  std::string_view up = {};
  std::string_view down = {};
  double momentum = 0;
  double delay = 0;
};

MethodParts take_apart(std::string_view text) {
  const Spec spec = parse_spec(text);
  const SpecStage& method = spec.stages.front();
  if (!is_method(method.name)) return {.up = text, .down = text};
  MethodParts parts{.family = family_of(method.name)};
  // Diana's momentum averages gradients, which lengthens nothing.
  if (method.name == "dgc") parts.momentum = 0.9;
  if (parts.family == MethodNoise::Family::lazy) parts.delay = 10;
  for (const SpecArgument& argument : method.arguments) {
    if (argument.key.empty() && !argument.stages.empty()) parts.up = value_text(text, argument);
    if (argument.key == "down") parts.down = value_text(text, argument);
    const bool is_momentum = method.name == "dgc" && argument.key == "momentum";
    if (is_momentum && argument.number) parts.momentum = *argument.number;
    if (argument.key == "delay" && argument.number) parts.delay = *argument.number;
  }
  const bool is_exact_down = parts.family == MethodNoise::Family::diana ||  // unless one is given
                             parts.family == MethodNoise::Family::lazy;
  if (parts.down.empty() && !is_exact_down) parts.down = parts.up;
  return parts;
}

// Where every rank's shared seed picks the same places.
bool has_shared_seed(const std::vector<SpecStage>& stages) {
  for (const SpecStage& stage : stages) {
    for (const SpecArgument& argument : stage.arguments) {
      const bool is_shared = argument.stages.size() == 1 && argument.stages[0].name == "shared";
      if (argument.key == "seed" && is_shared) return true;
    }
  }
  return false;
}

// A contractive codec's delta; what an unbiased one has as it stands, or scaled by 1/(1 + omega).
std::optional<double> contraction(const Guarantee& guarantee) {
  if (guarantee.kind == Kind::contractive) return guarantee.constant;
  if (guarantee.kind == Kind::none) return std::nullopt;
  const double omega = guarantee.constant;
  return omega < 1 ? 1 - omega : 1 / (1 + omega);
}

// EF21's constants, for what a memory leaves of the error in a step: 1 - T = sqrt(1 - delta).
struct Ef21Constants {
  explicit Ef21Constants(double delta) : t(1 - std::sqrt(1 - delta)), b((1 - delta) / t) {}
  double factor() const { return 1 + std::sqrt(2 * b / t); }
  double t;
  double b;
};

// By how much a downlink with a memory shortens steps. An unbiased one: methods that are proven by
// trial. A contractive one tracks what it sends as ef21 does, and costs what it costs there.
double down_factor(const std::optional<Guarantee>& down) {
  if (!down) return 1;
  if (down->kind == Kind::unbiased) return 1 + 6 * down->constant;
  return down->kind == Kind::contractive ? Ef21Constants(down->constant).factor() : 1;
}

double diana_step(const StepFacts& facts, const MethodNoise& noise, double workers) {
  const double omega = noise.up.constant;
  const bool is_unbiased_down = noise.down && noise.down->kind == Kind::unbiased;
  const double up_factor = 1 + (is_unbiased_down ? 6 : 2) * omega / workers;
  return 1 / (facts.smoothness * down_factor(noise.down) * up_factor);
}

double ef21_step(const StepFacts& facts, const MethodNoise& noise) {
  const std::optional<double> delta = contraction(noise.up);
  if (!delta) return 1 / facts.smoothness;
  const Ef21Constants up(*delta);
  double factor = up.factor();
  double t = up.t;
  if (const auto down = noise.down ? contraction(*noise.down) : std::nullopt) {
    factor *= Ef21Constants(*down).factor();
    t = std::min(t, Ef21Constants(*down).t);
  }
  const double slow =
      facts.convexity > 0 ? t / (2 * facts.convexity) : std::numeric_limits<double>::infinity();
  return std::min(1 / (facts.smoothness * factor), slow);
}

double direct_step(const StepFacts& facts, const MethodNoise& noise, double workers) {
  const auto omega = [](const Guarantee& guarantee) {
    return guarantee.kind == Kind::unbiased ? guarantee.constant : 0;
  };
  const double down = noise.down ? omega(*noise.down) : 0;
  return 1 / (facts.smoothness * (1 + down) * (1 + omega(noise.up) / workers));
}

// Old uploads and what sparse ones leave out both need short steps: found by trial, on data that
// are split by label, for 1 to 10 workers and shares down to 5%.
double lazy_step(const StepFacts& facts, const MethodNoise& noise) {
  const double delta = contraction(noise.up).value_or(1);
  return 1 / (facts.smoothness * std::max((1 + noise.delay) / 2, 1 / delta));
}

// A positive number; nothing for any other text.
std::optional<double> positive(std::string_view text) {
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || rest != end || !(number > 0) || std::isinf(number)) {
    return std::nullopt;
  }
  return number;
}

}  // namespace

MethodNoise method_noise(std::string_view text, Topology topology, std::size_t elements,
                         std::size_t ranks) {
  const MethodParts parts = take_apart(text);
  MethodNoise noise{.family = parts.family, .momentum = parts.momentum, .delay = parts.delay};
  if (parts.up.empty()) return noise;
  const auto up = make_codec(parts.up);
  noise.up = up->guarantee(elements);
  noise.is_shared = has_shared_seed(parse_spec(parts.up).stages);
  if (rounds_at_every_hop(topology, *up) && noise.up.kind == Kind::unbiased) {
    noise.up.constant = ring_omega(noise.up.constant, ranks);
    noise.is_shared = true;
  }
  if (traits_of(topology).has_owners && !parts.down.empty()) {
    noise.down = make_codec(parts.down)->guarantee(elements);
  }
  return noise;
}

double automatic_step(const StepFacts& facts, const MethodNoise& noise) {
  const double workers = noise.is_shared ? 1 : static_cast<double>(facts.workers);
  switch (noise.family) {
    case MethodNoise::Family::diana:
      return diana_step(facts, noise, workers);
    case MethodNoise::Family::ef21:
      return ef21_step(facts, noise);
    case MethodNoise::Family::direct:
      return direct_step(facts, noise, workers);
    case MethodNoise::Family::lazy:
      return lazy_step(facts, noise);
    case MethodNoise::Family::other:
      break;
  }
  return (1 - noise.momentum) / facts.smoothness;
}

StepRule parse_step_rule(std::string_view text) {
  if (text == "auto") return {};
  StepRule rule{.kind = StepRule::Kind::number};
  std::string_view number = text;
  if (text.ends_with("/L")) {
    number.remove_suffix(2);
    rule.kind = StepRule::Kind::per_smoothness;
  }
  const auto parsed = positive(number);
  if (!parsed) {
    throw Error("'" + std::string(text) + "' is no step: take auto, a number above 0, or 0.5/L");
  }
  rule.number = *parsed;
  return rule;
}

L2Rule parse_l2_rule(std::string_view text) {
  L2Rule rule;
  std::string_view number = text;
  if (text.starts_with("L/")) {
    number.remove_prefix(2);
    rule.divides_smoothness = true;
  }
  if (number == "0" && !rule.divides_smoothness) return rule;
  const auto parsed = positive(number);
  if (!parsed) {
    throw Error("'" + std::string(text) + "' is no strength: take 0, a number above it, or L/100");
  }
  rule.number = *parsed;
  return rule;
}

}  // namespace gradwire::convex
