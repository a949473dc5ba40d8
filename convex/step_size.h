// How long a step is, as a user asks for it: by a number, by the smoothness of the problem, or
// automatically, which is the method's own rule (ParsedMethod::safe_step). Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace gradwire::convex {

// "auto", "0.05", or "0.5/L"; behind it perhaps "/(1+t/T)", for steps that become shorter: step t,
// from 0 on, is that many times shorter. With T = theta/mu and 2/theta at first these are the steps
// 2/(mu t + theta) of DIANA's theorem for stochastic gradients.
struct StepRule {
  enum class Kind { automatic, number, per_smoothness };

  Kind kind = Kind::automatic;
  double number = 0;
  double halved_after = 0;  // T; 0: all steps are equal

  // Of the first step. Nothing where it is automatic.
  std::optional<double> value(double smoothness) const;

  // What step t's length is of that.
  double share_of(std::uint64_t step) const {
    return halved_after > 0 ? 1 / (1 + static_cast<double>(step) / halved_after) : 1;
  }
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
