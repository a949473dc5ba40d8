// Guarantee: the declared bound on a codec's error, for tensors of a given length. Value type.
#pragma once

#include <string>

namespace gradwire {

struct Guarantee {
  enum class Kind {
    unbiased,     // E C(x) = x and E|C(x)|^2 <= (1 + constant)|x|^2
    contractive,  // E|C(x) - x|^2 <= (1 - constant)|x|^2, 0 < constant <= 1
    none,         // see reason
  };

  Kind kind = Kind::none;
  double constant = 0;
  std::string reason;  // why there is no guarantee

  static Guarantee unbiased(double omega) { return {Kind::unbiased, omega, {}}; }
  static Guarantee contractive(double delta) { return {Kind::contractive, delta, {}}; }
  static Guarantee none(std::string reason) { return {Kind::none, 0, std::move(reason)}; }
};

// "unbiased", "contractive" or "none".
const char* name(Guarantee::Kind kind);

}  // namespace gradwire
