// How long a step is, as a user asks for it: by a number, by the smoothness of the problem, or
// automatically, which is the method's own rule (ParsedMethod::safe_step). Pure functions.
#pragma once

#include <optional>
#include <string_view>

namespace gradwire::convex {

// "auto", "0.05", or "0.5/L".
struct StepRule {
  enum class Kind { automatic, number, per_smoothness };

  Kind kind = Kind::automatic;
  double number = 0;

  // Nothing where it is automatic.
  std::optional<double> value(double smoothness) const;
};

// "0.01", or "L/100", with L the smoothness of the mean of the losses over all rows.
struct L2Rule {
  double number = 0;
  bool divides_smoothness = false;

  double value(double smoothness) const {
    return divides_smoothness ? smoothness / number : number;
  }
};

// Throw Error that says what is understood.
StepRule parse_step_rule(std::string_view text);
L2Rule parse_l2_rule(std::string_view text);

}  // namespace gradwire::convex
