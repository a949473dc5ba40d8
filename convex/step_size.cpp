#include "convex/step_size.h"

#include <charconv>
#include <cmath>
#include <string>
#include <system_error>

#include "gradwire/core/error.h"

namespace gradwire::convex {
namespace {

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

std::optional<double> StepRule::value(double smoothness) const {
  switch (kind) {
    case Kind::number:
      return number;
    case Kind::per_smoothness:
      return number / smoothness;
    case Kind::automatic:
      break;
  }
  return std::nullopt;
}

StepRule parse_step_rule(std::string_view text) {
  StepRule rule;
  std::string_view first = text;
  constexpr std::string_view kOpen = "/(1+t/";
  const std::size_t open = text.find(kOpen);
  std::optional<double> halved_after = 0;
  if (open != text.npos && text.ends_with(')')) {
    const std::size_t from = open + kOpen.size();
    halved_after = positive(text.substr(from, text.size() - 1 - from));
    first = text.substr(0, open);
  }
  std::optional<double> number = 0;
  if (first != "auto") {
    const bool divides = first.ends_with("/L");
    rule.kind = divides ? StepRule::Kind::per_smoothness : StepRule::Kind::number;
    if (divides) first.remove_suffix(2);
    number = positive(first);
  }
  if (!number || !halved_after) {
    throw Error("'" + std::string(text) +
                "' is not a step size: use auto, a number above 0, or 0.5/L; behind it /(1+t/100) "
                "makes steps shorter");
  }
  rule.number = *number;
  rule.halved_after = *halved_after;
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
    throw Error("'" + std::string(text) +
                "' is not a strength: use 0, a number above it, or L/100");
  }
  rule.number = *parsed;
  return rule;
}

}  // namespace gradwire::convex
