#include "gradwire/method/lgreco/accordion.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace gradwire {
namespace {

struct Settings {
  double low;
  double high;
  double least;
  double most;
};

// The usual settings, and the limits of a parameter.
Settings settings_of(Family family) {
  switch (family) {
    case Family::exact:
      break;
    case Family::qsgd:
      return {.low = 2, .high = 8, .least = 2, .most = 8};
    case Family::topk:
      return {.low = 0.01, .high = 0.1, .least = 1e-6, .most = 1};
    case Family::powersgd:
      break;
  }
  return {.low = 1, .high = 4, .least = 1, .most = 1024};
}

Family read_family(StageReader& arguments) {
  const SpecArgument* const given = arguments.nested_or_first("family", "topk");
  if (given == nullptr) arguments.fail("'accordion' needs a family: qsgd, topk or powersgd");
  const SpecStage& stage = given->stages.front();
  for (const Family family : planned_families()) {
    if (given->stages.size() == 1 && stage.arguments.empty() && stage.name == name(family)) {
      return family;
    }
  }
  arguments.fail_argument("family",
                          "the family is qsgd, topk or powersgd, without arguments; its settings "
                          "are low= and high=");
}

double read_setting(StageReader& arguments, const char* key, Family family, double otherwise) {
  const Settings settings = settings_of(family);
  if (family == Family::topk) {
    return arguments.keyed_number(key, otherwise, settings.least, settings.most);
  }
  return static_cast<double>(arguments.integer(key, static_cast<std::int64_t>(otherwise),
                                               static_cast<std::int64_t>(settings.least),
                                               static_cast<std::int64_t>(settings.most)));
}

std::string setting_text(const Candidate& candidate) {
  return candidate.family == Family::topk ? format_share(candidate.parameter)
                                          : format_number(candidate.parameter);
}

std::string key_of(const std::string& layer) { return "norm of " + layer; }

}  // namespace

std::string AccordionOptions::arguments() const {
  const Settings usual = settings_of(low.family);
  std::string text = name(low.family);
  if (low.parameter != usual.low) text += ", low=" + setting_text(low);
  if (high.parameter != usual.high) text += ", high=" + setting_text(high);
  if (threshold != AccordionOptions().threshold) text += ", threshold=" + format_number(threshold);
  return text;
}

AccordionOptions read_accordion(StageReader& arguments) {
  const Family family = read_family(arguments);
  const Settings usual = settings_of(family);
  AccordionOptions options;
  const double low = read_setting(arguments, "low", family, usual.low);
  const double high = read_setting(arguments, "high", family, usual.high);
  if (low >= high) arguments.fail_argument("high", "'high' must be above 'low'");
  options.low = candidate_of(family, low);
  options.high = candidate_of(family, high);
  options.threshold = arguments.keyed_number("threshold", options.threshold, 0, 1e6);
  return options;
}

std::vector<bool> CriticalPhases::look(std::span<const double> norms) {
  std::vector<bool> critical(norms.size(), true);
  for (std::size_t i = 0; i < before_.size(); ++i) {
    critical[i] = std::abs(norms[i] - before_[i]) >= threshold_ * before_[i];
  }
  before_.assign(norms.begin(), norms.end());
  return critical;
}

void CriticalPhases::save(std::span<const std::string> names, MethodState& state) const {
  for (std::size_t i = 0; i < before_.size(); ++i) state.numbers[key_of(names[i])] = before_[i];
}

void CriticalPhases::load(std::span<const std::string> names, const MethodState& state) {
  before_.clear();
  for (const std::string& layer : names) {
    const auto found = state.numbers.find(key_of(layer));
    if (found == state.numbers.end()) break;
    before_.push_back(found->second);
  }
  if (before_.size() != names.size()) before_.clear();
}

}  // namespace gradwire
