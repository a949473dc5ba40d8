#include "train/optimiser.h"

#include <cmath>
#include <limits>
#include <optional>

#include "gradwire/core/check.h"
#include "gradwire/core/error.h"
#include "gradwire/core/usage_error.h"
#include "gradwire/kernel/sums.h"
#include "train/read_spec.h"

namespace gradwire::train {
namespace {

constexpr double kDecayMax = 1e6;

OptimiserOptions read_adam(OptimiserOptions::Kind kind, double decay, StageReader& reader) {
  constexpr double kBetaMax = 1 - 1e-9;
  return {.kind = kind,
          .decay = reader.keyed_number("decay", decay, 0, kDecayMax),
          .beta1 = reader.keyed_number("beta1", 0.9, 0, kBetaMax),
          .beta2 = reader.keyed_number("beta2", 0.999, 0, kBetaMax),
          .epsilon = reader.keyed_number("epsilon", 1e-8, 1e-30, 1)};
}

std::optional<OptimiserOptions> read(const std::string& name, StageReader& reader) {
  if (name == "adam") return read_adam(OptimiserOptions::Kind::adam, 0, reader);
  if (name == "adamw") return read_adam(OptimiserOptions::Kind::adamw, 0.01, reader);
  if (name != "sgd") return std::nullopt;
  OptimiserOptions options{.momentum = reader.keyed_number("momentum", 0, 0, 1 - 1e-9),
                           .nesterov = reader.word("nesterov", {"off", "on"}) == "on",
                           .decay = reader.keyed_number("decay", 0, 0, kDecayMax)};
  if (options.nesterov && options.momentum == 0) {
    reader.fail_argument("nesterov", "nesterov needs a momentum, such as momentum=0.9");
  }
  return options;
}

// "name(a=1, b=2)", or "name" where there are no arguments.
class SpecText {
 public:
  explicit SpecText(std::string name) : text_(std::move(name)) {}
  void add(const std::string& key, const std::string& value) {
    text_ += (is_open_ ? ", " : "(") + key + "=" + value;
    is_open_ = true;
  }
  void add_unless(double usual, const std::string& key, double value) {
    if (value != usual) add(key, format_number(value));
  }
  std::string text() const { return is_open_ ? text_ + ")" : text_; }

 private:
  std::string text_;
  bool is_open_ = false;
};

}  // namespace

std::string OptimiserOptions::spec() const {
  if (kind == Kind::sgd) {
    SpecText text("sgd");
    text.add_unless(0, "momentum", momentum);
    if (nesterov) text.add("nesterov", "on");
    text.add_unless(0, "decay", decay);
    return text.text();
  }
  SpecText text(kind == Kind::adam ? "adam" : "adamw");
  text.add_unless(0.9, "beta1", beta1);
  text.add_unless(0.999, "beta2", beta2);
  text.add_unless(1e-8, "epsilon", epsilon);
  text.add_unless(kind == Kind::adam ? 0 : 0.01, "decay", decay);
  return text.text();
}

OptimiserOptions parse_optimiser(std::string_view text) {
  return read_spec(text, "optimiser", read, {"sgd", "adam", "adamw"});
}

void check_optimiser_fits(const MethodTraits& traits, const std::string& method,
                          const OptimiserOptions& optimiser, bool clips, bool has_regulariser) {
  const auto refuse = [&](const std::string& why) { throw UsageError(method + " " + why); };
  if (traits.owns_moments) {
    if (optimiser.kind == OptimiserOptions::Kind::adam && optimiser.decay > 0) {
      refuse("decays weights beside the gradient, and " + optimiser.spec() +
             " through it: take --optimiser adamw");
    }
    if (clips) refuse("clips by itself: leave out --clip, and take clip= in the spec");
    if (optimiser.has_moments() && !has_regulariser) return;
  }
  if (traits.output == MethodTraits::Output::update) {
    if (optimiser.has_momentum()) {
      refuse(
          "gives an update that is subtracted as it is, with the learning rate already in it, so " +
          optimiser.spec() + " has no gradient to work on: take --optimiser sgd");
    }
    if (clips) {
      refuse(
          "gives an update, not a gradient, so there is no gradient norm to clip: leave out "
          "--clip");
    }
  }
  if (traits.owns_momentum && optimiser.has_momentum()) {
    refuse("has a momentum of its own, which " + optimiser.spec() +
           " would count twice: take --optimiser sgd");
  }
  if (has_regulariser && optimiser.has_momentum()) {
    throw UsageError("a regulariser's prox belongs to steps along the gradient, which " +
                     optimiser.spec() + " does not take: take --optimiser sgd");
  }
}

std::vector<MomentSettings> moments_for(const OptimiserOptions& optimiser, std::size_t tensors) {
  if (!optimiser.has_moments()) return {};
  return std::vector(tensors, MomentSettings{.beta1 = optimiser.beta1,
                                             .beta2 = optimiser.beta2,
                                             .epsilon = optimiser.epsilon,
                                             .decay = optimiser.decay});
}

OptimiserOptions left_behind(const MethodTraits& traits, const OptimiserOptions& optimiser) {
  return traits.owns_moments && optimiser.has_moments() ? OptimiserOptions() : optimiser;
}

std::string optimiser_warning(const MethodTraits& traits, const std::string& method,
                              const Codec* codec, const OptimiserOptions& optimiser) {
  constexpr std::size_t kUsualElements = std::size_t{1} << 20;
  if (traits.output == MethodTraits::Output::model) {
    constexpr double kGainMax = 2;
    if (optimiser.has_moments() || traits.gain <= kGainMax) return "";
    return method + " moves the model " + std::to_string(std::lround(traits.gain)) +
           " times as far as the workers, in the long run, and the steps of " + optimiser.spec() +
           " have no limit of their own: expect a higher loss or divergence. Take outer=sgd(1), or "
           "adamw";
  }
  if (!optimiser.has_moments() || traits.owns_moments) return "";
  if (codec == nullptr || codec->is_plain()) return "";
  if (codec->guarantee(kUsualElements).kind == Guarantee::Kind::unbiased) return "";
  return optimiser.spec() + " divides by a running mean of squared gradients, and " + method +
         " changes these squares: expect a higher loss. Take adam(" + codec->spec() +
         "), which compresses behind them";
}

Optimiser::Optimiser(const OptimiserOptions& options, const convex::Regulariser& regulariser,
                     std::size_t elements)
    : options_(options),
      regulariser_(regulariser),
      momentum_(options.has_momentum() ? elements : 0),
      squares_(options.kind == OptimiserOptions::Kind::sgd ? 0 : elements) {}

void Optimiser::step(MethodTraits::Output kind, double rate, std::span<float> output,
                     std::span<float> parameters) {
  GW_CHECK(output.size() == parameters.size());
  ++steps_;
  if (kind == MethodTraits::Output::update) {
    const auto shrink = static_cast<float>(rate * options_.decay);
    for (std::size_t i = 0; i < output.size(); ++i) {
      parameters[i] -= output[i] + shrink * parameters[i];
    }
  } else if (options_.kind == OptimiserOptions::Kind::sgd) {
    step_sgd(static_cast<float>(rate), output, parameters);
  } else {
    step_adam(rate, output, parameters);
  }
  if (regulariser_.l1 == 0 && regulariser_.l2 == 0 && regulariser_.is_smooth()) return;
  for (float& x : parameters) x = static_cast<float>(regulariser_.prox(double{x}, rate));
}

void Optimiser::step_sgd(float rate, std::span<float> gradient, std::span<float> parameters) {
  const auto decay = static_cast<float>(options_.decay);
  const auto momentum = static_cast<float>(options_.momentum);
  if (momentum == 0) {
    for (std::size_t i = 0; i < gradient.size(); ++i) {
      parameters[i] -= rate * (gradient[i] + decay * parameters[i]);
    }
    return;
  }
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    const float slope = gradient[i] + decay * parameters[i];
    momentum_[i] = momentum * momentum_[i] + slope;
    parameters[i] -= rate * (options_.nesterov ? slope + momentum * momentum_[i] : momentum_[i]);
  }
}

void Optimiser::step_adam(double rate, std::span<float> gradient, std::span<float> parameters) {
  const bool is_decoupled = options_.kind == OptimiserOptions::Kind::adamw;
  const auto shrink = static_cast<float>(is_decoupled ? rate * options_.decay : 0);
  const auto decay = static_cast<float>(is_decoupled ? 0 : options_.decay);
  const auto b1 = static_cast<float>(options_.beta1);
  const auto b2 = static_cast<float>(options_.beta2);
  const double t = static_cast<double>(steps_);
  const auto length = static_cast<float>(rate / (1 - std::pow(options_.beta1, t)));
  const auto unbias = static_cast<float>(1 / std::sqrt(1 - std::pow(options_.beta2, t)));
  const auto epsilon = static_cast<float>(options_.epsilon);
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    parameters[i] -= shrink * parameters[i];
    const float slope = gradient[i] + decay * parameters[i];
    momentum_[i] = b1 * momentum_[i] + (1 - b1) * slope;
    squares_[i] = b2 * squares_[i] + (1 - b2) * slope * slope;
    parameters[i] -= length * momentum_[i] / (std::sqrt(squares_[i]) * unbias + epsilon);
  }
}

std::map<std::string, std::span<float>> Optimiser::memories() {
  std::map<std::string, std::span<float>> memories;
  if (!momentum_.empty()) memories["momentum"] = momentum_;
  if (!squares_.empty()) memories["squares"] = squares_;
  return memories;
}

void clip_norm(std::span<float> gradient, double norm_max) {
  const double norm = std::sqrt(kernel::moments(gradient).squares);
  if (!(norm > norm_max)) return;
  const auto scale = static_cast<float>(norm_max / norm);
  for (float& slope : gradient) slope *= scale;
}

}  // namespace gradwire::train
