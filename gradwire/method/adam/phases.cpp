#include "gradwire/method/adam/phases.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "gradwire/core/error.h"

namespace gradwire {
namespace {

// The published criterion: the norm of the mean squares has changed by less than 4% in the time
// that they look back.
constexpr double kSettledChange = 0.04;

// Norms are kept at so many places of the window.
constexpr std::uint64_t kNorms = 16;

constexpr const char* kSteps = "adam steps";
constexpr const char* kUpdates = "adam updates of squares";
constexpr const char* kWarmSteps = "adam warm-up";
constexpr const char* kNextRefresh = "adam next refresh";
constexpr const char* kLastRate = "adam last rate";

std::string norm_key(std::size_t index) { return "adam norm " + std::to_string(index); }

double number(const MethodState& state, const std::string& key) {
  const auto found = state.numbers.find(key);
  if (found == state.numbers.end()) throw Error("the saved state has no '" + key + '\'');
  return found->second;
}

std::uint64_t count(const MethodState& state, const std::string& key) {
  const double value = number(state, key);
  if (value >= 0 && value <= 0x1p53 && value == std::floor(value)) {
    return static_cast<std::uint64_t>(value);
  }
  throw Error("the saved state has a wrong '" + key + '\'');
}

}  // namespace

AdamPhases::AdamPhases(const AdamSchedule& schedule) : schedule_(schedule) {}

AdamPhase AdamPhases::next(double rate) const {
  if (is_warm()) {
    const bool is_over =
        schedule_.warmup ? steps_ >= *schedule_.warmup : has_settled() && !(rate > last_rate_);
    if (!is_over) return AdamPhase::warmup;
  }
  const std::uint64_t number = steps_ - warm_steps_.value_or(steps_) + 1;
  const bool is_due = schedule_.refresh > 0 && number >= next_refresh_;
  return is_due ? AdamPhase::refresh : AdamPhase::compressed;
}

void AdamPhases::commit(AdamPhase phase, double rate, double squares_norm) {
  if (phase != AdamPhase::warmup && is_warm()) warm_steps_ = steps_;
  ++steps_;
  last_rate_ = rate;
  if (phase == AdamPhase::compressed) return;
  ++updates_;
  if (phase == AdamPhase::refresh) {
    // At 1, 2, 4, ... steps, and then at equal distances.
    const std::uint64_t done = steps_ - *warm_steps_;
    next_refresh_ = done + std::min(done, schedule_.refresh);
    return;
  }
  const std::uint64_t distance = std::max<std::uint64_t>(1, schedule_.window / kNorms);
  if (updates_ % distance != 0) return;
  norms_.push_front(squares_norm);
  const std::uint64_t kept = std::max<std::uint64_t>(1, schedule_.window / distance) + 1;
  if (norms_.size() > kept) norms_.pop_back();
}

bool AdamPhases::has_settled() const {
  const std::uint64_t distance = std::max<std::uint64_t>(1, schedule_.window / kNorms);
  const std::uint64_t kept = std::max<std::uint64_t>(1, schedule_.window / distance) + 1;
  if (norms_.size() < kept) return false;
  return std::abs(norms_.front() - norms_.back()) < kSettledChange * norms_.front();
}

void AdamPhases::save(MethodState& state) const {
  state.numbers[kSteps] = static_cast<double>(steps_);
  state.numbers[kUpdates] = static_cast<double>(updates_);
  state.numbers[kNextRefresh] = static_cast<double>(next_refresh_);
  state.numbers[kLastRate] = last_rate_;
  if (warm_steps_) state.numbers[kWarmSteps] = static_cast<double>(*warm_steps_);
  if (!is_warm()) return;
  for (std::size_t i = 0; i < norms_.size(); ++i) state.numbers[norm_key(i)] = norms_[i];
}

void AdamPhases::load(const MethodState& state) {
  AdamPhases loaded(schedule_);
  loaded.steps_ = count(state, kSteps);
  loaded.updates_ = count(state, kUpdates);
  loaded.next_refresh_ = count(state, kNextRefresh);
  loaded.last_rate_ = number(state, kLastRate);
  if (state.numbers.contains(kWarmSteps)) loaded.warm_steps_ = count(state, kWarmSteps);
  if (loaded.warm_steps_.value_or(0) > loaded.steps_) {
    throw Error("the saved state has a wrong '" + std::string(kWarmSteps) + '\'');
  }
  for (std::size_t i = 0; state.numbers.contains(norm_key(i)); ++i) {
    loaded.norms_.push_back(number(state, norm_key(i)));
  }
  *this = loaded;
}

void AdamPhases::rescale(double factor) {
  for (double& norm : norms_) norm *= factor * factor;
}

}  // namespace gradwire
