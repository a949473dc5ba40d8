// lasg(C) and sasg(C): who needs to speak at all. With x the model, xhat the model at the worker's
// last upload and D the window, a worker skips its upload if
//   |g(x) - g(xhat)|^2 <= (1/N^2) sum_{d=1..D} a_d |x^(t+1-d) - x^(t-d)|^2,    a_d = N / gamma,
// both gradients of the same batch; but never in its first D steps, nor when its last upload is too
// old. What it sends otherwise is ef's: v = g + e; u = C(v); e = v - u (lasg: v = g, no memory).
// out = gamma mean u, an update. Uploads are kept without gamma, so that a change of it reaches old
// ones. With a downlink D, the owner has an error memory on the update: w = gamma mean u + e_o;
// sends q = D(w); e_o = w - q; out = q.
#include <cmath>
#include <deque>
#include <limits>

#include "gradwire/codec/spec.h"
#include "gradwire/kernel/combine.h"
#include "gradwire/kernel/sums.h"
#include "gradwire/method/distance.h"
#include "gradwire/method/downlink_error.h"
#include "gradwire/method/exchange_method.h"
#include "gradwire/method/methods.h"
#include "gradwire/method/rate_unit.h"
#include "gradwire/method/scaling.h"
#include "gradwire/method/smoothness.h"

namespace gradwire {
namespace {

constexpr const char* kSteps = "steps";
constexpr const char* kAge = "age";

struct LazyOptions {
  bool has_error_memory = false;          // sasg; otherwise lasg
  std::size_t window = 10;                // steps of the model's movement that are looked at
  std::size_t delay = 10;                 // steps after which a worker uploads in any case
  std::optional<double> weight = {};      // of each of these steps; null: workers / learning rate
  bool is_server_rule = false;            // from the movement alone, without a second gradient
  std::optional<double> smoothness = {};  // for that; null: estimated from the uploads
};

class LazyRule final : public Rule {
 public:
  LazyRule(RuleWorkspace& workspace, const LazyOptions& options)
      : Rule(workspace),
        options_(options),
        error_(options.has_error_memory ? workspace.add_memory("error", Sharing::worker) : 0),
        old_model_(workspace.add_memory("model at the last upload", Sharing::worker,
                                        MemoryUnit::parameter)),
        scales_(options.has_error_memory
                    ? contraction_scales(*workspace.codecs.up, workspace.tensors)
                    : std::vector<float>(workspace.tensors.size(), 1.0F)),
        downlink_(workspace),
        unit_(workspace.tensors),
        smoothness_(*workspace.codecs.up) {}

  bool keeps_values() const override { return options_.has_error_memory; }
  bool takes_pieces_in_order() const override { return true; }  // the step's length is a sum

  bool on_whole_gradient() override {
    movement_ = model_movement();
    if (context().moved_squared && !moves_.empty()) moves_.front() = *context().moved_squared;
    is_skipped_ = may_skip() && change() <= allowed_change();  // NaN uploads
    return is_skipped_;
  }

  bool on_spared_gradient() override {
    movement_ = model_movement();
    if (context().moved_squared && !moves_.empty()) moves_.front() = *context().moved_squared;
    is_skipped_ = true;
    return true;
  }

  void prepare(const TensorPiece& piece, std::span<const float> gradient,
               std::span<float> values) override {
    if (options_.has_error_memory) {
      const float factor = unit_.factor(piece.tensor, context());
      kernel::combine(context().weight, gradient, factor, memory(error_, piece), values);
    } else {
      for (std::size_t i = 0; i < values.size(); ++i) values[i] = context().weight * gradient[i];
    }
  }

  void remember(const TensorPiece& piece, const SentPiece& sent, std::span<float> values) override {
    if (sent.is_empty()) return;
    if (estimates_smoothness()) smoothness_.add(piece, sent);
    if (!options_.has_error_memory) return;
    sent.add(-scales_[piece.tensor], values);  // e = v - u
    std::copy(values.begin(), values.end(), memory(error_, piece).begin());
  }

  float mean_scale(std::size_t tensor) const override {
    return workspace().has_downlink ? downlink_.scale(tensor) : update_scale(tensor);
  }

  void prepare_down(const TensorPiece& piece, std::span<const float> mean,
                    std::span<float> wanted) override {
    downlink_.prepare(piece, mean, update_scale(piece.tensor), 1, wanted);
  }
  void commit_down(const TensorPiece& piece, std::span<const float> mean,
                   std::span<const float> sent) override {
    downlink_.commit(piece, mean, update_scale(piece.tensor), 1, sent);
  }

  void commit(const TensorPiece& /*piece*/, std::span<const float> mean,
              std::span<float> result) override {
    if (!keeps_values()) std::copy(mean.begin(), mean.end(), result.begin());
    step_squared_ += kernel::moments(result).squares;
  }

  void on_settled(std::size_t first, std::size_t last, bool poisoned) override {
    if (poisoned) return;
    ++steps_;
    ++age_;
    moves_.push_front(step_squared_);
    if (moves_.size() > options_.window) moves_.pop_back();
    step_squared_ = 0;
    if (is_skipped_ || workspace().only_averages) return;
    if (estimates_smoothness()) smoothness_.settle(movement_);
    unit_.commit(first, last, context());
    age_ = 1;
    for (std::size_t i = first; i < last; ++i) {
      const auto& x = context().parameters[i];
      std::copy(x.begin(), x.end(), memory(old_model_, whole(i)).begin());
    }
  }

  void on_save(MethodState& state) const override;
  void on_load(const MethodState& state) override;
  // The kept uploads have the old scale: all upload once.
  void on_rescale(float factor) override {
    age_ = kNeverUploaded;
    for (double& move : moves_) move *= double{factor} * double{factor};
    smoothness_.rescale(factor);
  }
  std::size_t extra_bytes() const override { return smoothness_.bytes(); }

 private:
  static constexpr std::size_t kNeverUploaded = std::size_t(-1) / 2;

  TensorPiece whole(std::size_t tensor) const {
    return {.tensor = tensor, .first = 0, .elements = workspace().tensors[tensor].elements()};
  }
  // From the mean of uploads to the update.
  float update_scale(std::size_t tensor) const {
    return static_cast<float>(context().rate_of(tensor)) * scales_[tensor];
  }
  bool estimates_smoothness() const { return options_.is_server_rule && !options_.smoothness; }

  bool may_skip() const { return steps_ >= options_.window && age_ <= options_.delay; }

  // |x - xhat|^2
  double model_movement() {
    if (!options_.is_server_rule || age_ >= kNeverUploaded) return 0;
    double squares = 0;
    for (std::size_t i = 0; i < workspace().tensors.size(); ++i) {
      squares +=
          distance_squared(context().parameters[i], workspace().memories[old_model_].whole(i));
    }
    return squares;
  }

  // |g(x) - g(xhat)|^2, or what the smoothness says about it.
  double change() {
    if (options_.is_server_rule) {
      constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
      double gradient_squared = 0;
      for (const auto& gradient : workspace().gradients) {
        gradient_squared += kernel::moments(gradient).squares;
      }
      if (!std::isfinite(gradient_squared)) return kUnknown;
      if (!estimates_smoothness()) return *options_.smoothness * *options_.smoothness * movement_;
      return smoothness_.squared() > 0 ? smoothness_.squared() * movement_ : kUnknown;
    }
    std::vector<std::span<const float>> old_model;
    for (std::size_t i = 0; i < workspace().tensors.size(); ++i) {
      old_model.push_back(workspace().memories[old_model_].whole(i));
    }
    double squares = 0;
    context().gradient_at(old_model, [&](std::size_t tensor, std::span<const float> gradient) {
      squares += distance_squared(workspace().gradients[tensor], gradient);
    });
    return double{context().weight} * double{context().weight} * squares;
  }

  double allowed_change() const {
    const auto workers = static_cast<double>(workspace().workers);
    const double weight = options_.weight.value_or(workers / context().learning_rate);
    double sum = 0;
    for (const double move : moves_) sum += weight * move;
    return sum / (workers * workers);
  }

  const LazyOptions options_;
  const std::size_t error_;
  const std::size_t old_model_;
  const std::vector<float> scales_;
  DownlinkError downlink_;
  RateUnit unit_;
  SmoothnessEstimate smoothness_;
  std::size_t steps_ = 0;
  std::size_t age_ = kNeverUploaded;
  std::deque<double> moves_;  // |x^(t+1-d) - x^(t-d)|^2 for d = 1, 2, ...
  double step_squared_ = 0;
  double movement_ = 0;
  bool is_skipped_ = false;
};

void LazyRule::on_save(MethodState& state) const {
  unit_.save(state);
  smoothness_.save(state);
  state.numbers[kSteps] = static_cast<double>(steps_);
  state.numbers[kAge] = age_ >= kNeverUploaded ? -1.0 : static_cast<double>(age_);
  for (std::size_t i = 0; i < moves_.size(); ++i) {
    state.numbers["move " + std::to_string(i)] = moves_[i];
  }
}

// Where ranks have changed, nobody has the last uploads: all upload once.
void LazyRule::on_load(const MethodState& state) {
  const auto number = [&](const std::string& name) {
    const auto found = state.numbers.find(name);
    return found == state.numbers.end() ? -1.0 : found->second;
  };
  unit_.load(state);
  smoothness_.load(state);
  steps_ = static_cast<std::size_t>(std::max(0.0, number(kSteps)));
  const double age = number(kAge);
  age_ = state.is_reshared || age < 0 ? kNeverUploaded : static_cast<std::size_t>(age);
  moves_.clear();
  for (std::size_t i = 0; i < options_.window; ++i) {
    const double move = number("move " + std::to_string(i));
    if (move < 0) break;
    moves_.push_back(move);
  }
}

// Old uploads and the parts that sparse ones leave out both need short steps: found by trial, on
// data that are split by label, for 1 to 10 workers and shares down to 5%.
double lazy_step(const StepFacts& facts, const StepNoise& noise, std::size_t delay) {
  const double delta = contraction(noise.up).value_or(1);
  const double age = (1 + static_cast<double>(delay)) / 2;
  return 1 / (facts.smoothness * std::max(age, 1 / delta));
}

LazyOptions read_options(MethodReader& reader, bool has_error_memory) {
  StageReader& arguments = reader.arguments();
  constexpr std::int64_t kStepsMax = 1'000'000;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  LazyOptions options{.has_error_memory = has_error_memory};
  const auto steps = [&](const char* key) {
    const std::int64_t given = arguments.integer(key, 10, 1, kStepsMax);
    if (given != 10) reader.write(std::string(key) + '=' + std::to_string(given));
    return static_cast<std::size_t>(given);
  };
  options.window = steps("window");
  options.delay = steps("delay");
  options.weight = arguments.number_or_auto("weight", 0, kInfinity);
  if (options.weight) reader.write("weight=" + format_number(*options.weight));
  options.is_server_rule = arguments.word("rule", {"worker", "server"}) == "server";
  if (options.is_server_rule) reader.write("rule=server");
  options.smoothness = arguments.number_or_auto("smoothness", 0, kInfinity);
  if (options.smoothness) {
    if (!options.is_server_rule) {
      arguments.fail_argument("smoothness", "'smoothness' is for rule=server");
    }
    reader.write("smoothness=" + format_number(*options.smoothness));
  }
  return options;
}

ParsedMethod read_lazy(MethodReader& reader, std::shared_ptr<const Codec> up,
                       bool has_error_memory) {
  const LazyOptions options = read_options(reader, has_error_memory);
  MethodSetup setup;
  setup.kind = RuleKind::lazy;
  setup.codecs = {.up = std::move(up), .down = reader.down(why_not_with_error_memory)};
  if (!setup.codecs.down) setup.codecs.down = make_plain_codec();
  setup.traits = {.needs_whole_gradient = true,
                  .needs_parameters = true,
                  .needs_old_gradient = !options.is_server_rule,
                  .has_memory = true,
                  .reuses_uploads = true,
                  .output = MethodTraits::Output::update};
  setup.safe_step = [delay = options.delay](const StepFacts& facts, const StepNoise& noise) {
    return lazy_step(facts, noise, delay);
  };
  setup.make_rule = [options](RuleWorkspace& workspace) {
    return std::make_unique<LazyRule>(workspace, options);
  };
  setup.why_not_late =
      setup.codecs.down->is_plain()
          ? ""
          : "its rounded downlink has a memory in units of the step, which its owner does not know "
            "while it is late; use down=none";
  setup.why_not_repeatable =
      "its steps use messages of earlier steps again, which a lost rank sent";
  setup.spec = reader.finish();
  return describe_method(setup);
}

ParsedMethod read_lasg(MethodReader& reader) {
  return read_lazy(reader, reader.codec_or_plain(why_not_without_memory), false);
}

ParsedMethod read_sasg(MethodReader& reader) {
  return read_lazy(reader, reader.codec(why_not_with_error_memory), true);
}

}  // namespace

MethodEntry lasg_method() {
  return {.name = "lasg",
          .read = read_lasg,
          .examples = {{"lasg(none)", 1, 0, "1 upload", topologies_with_messages(),
                        "a worker whose gradient has hardly changed sends nothing"}}};
}

MethodEntry sasg_method() {
  return {.name = "sasg",
          .read = read_sasg,
          .examples = {
              {"sasg(topk(1%))", 2, 0, "sparse uploads", topologies_with_messages(),
               "the same with sparse uploads and an error memory"},
              {"sasg(topk(1%), down=topk(1%) | natural)", 2, 1, "sparse uploads",
               topologies_with_owners(), "the same, and what goes down has a memory of its own"}}};
}

}  // namespace gradwire
