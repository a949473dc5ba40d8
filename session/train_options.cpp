#include "session/train_options.h"

#include "convex/problem.h"
#include "convex/regulariser.h"
#include "data/split.h"
#include "gradwire/core/usage_error.h"
#include "gradwire/method/parsed_method.h"
#include "train/model.h"
#include "train/optimiser.h"
#include "train/schedule.h"

namespace gradwire::session {
namespace {

constexpr double kEpochsMax = 1e9;

}  // namespace

bool is_convex_model(const std::string& model) { return convex::find_loss(model).has_value(); }

std::string usual_data(const std::string& model) {
  return is_convex_model(model) ? "generated" : train::parse_model(model).usual_data;
}

std::string TrainOptions::regulariser_spec() const {
  return l1 ? "l1(" + *l1 + ")" : regulariser.value_or("none");
}

void check_options(const TrainOptions& options, const std::vector<std::string>& methods) {
  for (const std::string& method : methods) {
    const ParsedMethod parsed = parse_method(method);
    if (options.is_convex() && parsed.traits.output == MethodTraits::Output::model) {
      throw UsageError(parsed.spec +
                       " needs an optimiser of each worker's own, which only networks have here");
    }
  }
  data::parse_split(options.split);
  convex::parse_regulariser(options.regulariser_spec());
  if (options.is_convex()) return;
  train::parse_model(options.model);
  train::parse_optimiser(options.network.optimiser);
  train::parse_schedule(options.network.schedule);
  if (options.steps && options.network.epochs) {
    throw UsageError("--steps and --epochs both say how long to train: give one of them");
  }
  if (options.network.epochs > kEpochsMax) throw UsageError("--epochs is too large: at most 1e9");
}

}  // namespace gradwire::session
