#include "gradwire/method/lgc/phases.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include "gradwire/core/error.h"
#include "gradwire/core/random.h"

namespace gradwire {
namespace {

// How much of the mean error is new at every step.
constexpr double kNewShare = 0.1;
// The code is left when its error is so many times what it may be to begin.
constexpr double kLeaveAt = 1.25;
// When that many times the steps that it should take have gone, and this many, it is said.
constexpr std::uint64_t kPatience = 5;
constexpr std::uint64_t kPatienceLeast = 20;

constexpr const char* kSteps = "steps";
constexpr const char* kSince = "steps of this phase";
constexpr const char* kIsCoded = "coded";
constexpr const char* kError = "error of the code";
constexpr const char* kHasComplained = "has complained";

std::string sentence(const char* format, double a, double b) {
  char text[200];
  std::snprintf(text, sizeof text, format, a, b);
  return text;
}

}  // namespace

const char* name(LgcPhase phase) {
  switch (phase) {
    case LgcPhase::full:
      return "full";
    case LgcPhase::sparse:
      return "sparse";
    case LgcPhase::coded:
      return "coded";
  }
  return "";
}

LgcPhase LgcPhases::phase() const {
  if (steps_ < options_.full_steps) return LgcPhase::full;
  return is_coded_ ? LgcPhase::coded : LgcPhase::sparse;
}

bool LgcPhases::is_refresh() const {
  const std::uint64_t every = options_.refresh_every;
  if (phase() != LgcPhase::coded || every == 0 || since_ < every) return false;
  // One in so many, but not at even distances: such steps might all have one leader.
  const auto turn = static_cast<std::uint32_t>(since_ / every);
  return since_ % every == RandomStream::mix(turn) % every;
}

void LgcPhases::restart() {
  if (is_coded_) {
    pending_remark_ = "The code has to be learned anew for another number of ranks: exact values.";
  }
  is_coded_ = false;
  since_ = 0;
}

std::string LgcPhases::end_step(std::optional<double> error) {
  const std::string pending = std::exchange(pending_remark_, "");
  if (!pending.empty()) return pending + ' ' + end_step(error);
  const bool is_full = phase() == LgcPhase::full;
  ++steps_;
  if (is_full) return "";
  if (error) {
    const double known = std::isfinite(*error) ? *error : 1;
    mean_error_ += (since_ == 0 && !is_coded_ ? 1 : kNewShare) * (known - mean_error_);
  }
  ++since_;
  if (is_coded_) {
    if (mean_error_ <= kLeaveAt * options_.error_max) return "";
    is_coded_ = false;
    since_ = 0;
    return sentence("The code's error is %.3g, more than it may be (%.3g): back to exact values.",
                    mean_error_, kLeaveAt * options_.error_max);
  }
  if (since_ >= options_.sparse_steps && mean_error_ <= options_.error_max) {
    is_coded_ = true;
    since_ = 0;
    return sentence("The code is used from now on: its error on new steps is %.3g (at most %.3g).",
                    mean_error_, options_.error_max);
  }
  const std::uint64_t patience =
      std::max<std::uint64_t>(kPatience * options_.sparse_steps, kPatienceLeast);
  if (has_complained_ || since_ < patience) return "";
  has_complained_ = true;
  return sentence(
      "The code's error is %.3g, and not below %.3g: exact values are sent until it is.",
      mean_error_, options_.error_max);
}

void LgcPhases::save(MethodState& state) const {
  state.numbers[kSteps] = static_cast<double>(steps_);
  state.numbers[kSince] = static_cast<double>(since_);
  state.numbers[kIsCoded] = is_coded_ ? 1 : 0;
  state.numbers[kError] = mean_error_;
  state.numbers[kHasComplained] = has_complained_ ? 1 : 0;
}

void LgcPhases::load(const MethodState& state) {
  const auto number = [&](const char* key) {
    const auto found = state.numbers.find(key);
    const bool is_good =
        found != state.numbers.end() && found->second >= 0 && found->second <= 0x1p53;
    if (!is_good) throw Error(std::string("the saved state has no '") + key + "', or a wrong one");
    return found->second;
  };
  LgcPhases loaded(options_);
  loaded.steps_ = static_cast<std::uint64_t>(number(kSteps));
  loaded.since_ = static_cast<std::uint64_t>(number(kSince));
  loaded.is_coded_ = number(kIsCoded) != 0;
  loaded.mean_error_ = number(kError);
  loaded.has_complained_ = number(kHasComplained) != 0;
  *this = loaded;
}

}  // namespace gradwire
