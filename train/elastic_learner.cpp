#include "train/elastic_learner.h"

#include <algorithm>
#include <string>

#include "gradwire/core/check.h"
#include "gradwire/core/error.h"
#include "gradwire/wire/frame.h"
#include "session/rank/session.h"
#include "train/evaluation.h"
#include "train/learn_batch.h"
#include "train/replica_state.h"

namespace gradwire::train {
namespace {

constexpr const char* kStatistics = "running statistics";
constexpr const char* kSamples = "samples";
constexpr const char* kSteps = "steps";
constexpr const char* kPhase = "phase";
constexpr const char* kOptimiserSteps = "optimiser steps";
constexpr const char* kTestLoss = "test loss";
constexpr const char* kAccuracy = "accuracy";
constexpr const char* kMeanIou = "mean iou";

constexpr std::size_t kScores = 3;  // loss, correct ones, count

double number(const MethodState& state, const char* name) {
  const auto found = state.numbers.find(name);
  if (found == state.numbers.end()) {
    throw Error("the state of the run has no number '" + std::string(name) + "'");
  }
  return found->second;
}

std::optional<double> optional_number(const MethodState& state, const char* name) {
  const auto found = state.numbers.find(name);
  return found == state.numbers.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace

ElasticLearner::ElasticLearner(const Task& task, const Plan& plan, const MethodTraits& traits)
    : task_(task),
      plan_(plan),
      traits_(traits),
      rates_(task.rate_plan(plan.steps)),
      model_(make_model(task.options.model, task.source->shape(), task.options.seed)),
      optimiser_(left_behind(traits, task.options.optimiser), task.options.regulariser,
                 model_->values().size()),
      samples_(task.source->size(data::Part::train), global_batch(), task.options.seed),
      common_statistics_(model_->statistics().begin(), model_->statistics().end()) {
  for (const Parameter& parameter : model_->parameters()) {
    gradients_.push_back(model_->gradients().subspan(parameter.first, parameter.elements));
  }
  own_statistics_.resize(common_statistics_.size());
  if (!own_statistics_.empty()) buffers_.emplace_back(own_statistics_);
  const data::SampleShape& shape = task.source->shape();
  const bool has_segments = shape.kind == data::SampleShape::Kind::segments;
  scores_.resize(kScores + (has_segments ? 2 * shape.classes : 0));
  buffers_.emplace_back(scores_);
}

std::vector<MethodTensor> ElasticLearner::tensors() const {
  std::vector<MethodTensor> tensors;
  for (const Parameter& parameter : model_->parameters()) {
    tensors.push_back({.name = parameter.name, .shape = parameter.shape});
  }
  return tensors;
}

std::vector<MethodTensor> ElasticLearner::buffers() const {
  std::vector<MethodTensor> buffers;
  if (!own_statistics_.empty()) {
    buffers.push_back({.name = kStatistics, .shape = {own_statistics_.size()}});
  }
  buffers.push_back({.name = "scores", .shape = {scores_.size()}});
  return buffers;
}

std::size_t ElasticLearner::global_batch() const {
  return task_.options.batch * task_.options.accumulate;
}

ElasticLearner::Work ElasticLearner::next_work() const {
  if (phase_ == Phase::training) return Work::step;
  return phase_ == Phase::over ? Work::none : Work::average;
}

ElasticLearner::Computed ElasticLearner::compute(const ElasticTurn& turn) {
  GW_CHECK(next_work() == Work::step);
  statistics_before_.assign(model_->statistics().begin(), model_->statistics().end());
  std::ranges::fill(model_->gradients(), 0.0F);
  if (!turn.share) return {};
  const auto samples = samples_.share(*turn.share, turn.shares);
  if (samples.empty()) return {};
  const Score score = learn_batch(*model_, *task_.source, samples,
                                  {.seed = task_.options.seed,
                                   .step = steps_done_,
                                   .rank = *turn.share,
                                   .parts = task_.options.accumulate},
                                  batch_);
  return {.samples = samples.size(), .score = score};
}

std::span<const std::span<float>> ElasticLearner::compute_average(const ElasticTurn& turn) {
  GW_CHECK(next_work() == Work::average);
  std::ranges::copy(model_->statistics(), own_statistics_.begin());
  std::ranges::fill(scores_, 0.0F);
  if (phase_ == Phase::scores && turn.share) {
    const Score own = score_test(*model_, *task_.source, *turn.share, turn.shares, batch_);
    scores_[0] = static_cast<float>(own.loss);
    scores_[1] = static_cast<float>(own.correct);
    scores_[2] = static_cast<float>(own.count);
    const auto as_float = [](std::uint64_t count) { return static_cast<float>(count); };
    const auto by_class = scores_.begin() + kScores;
    std::ranges::transform(own.either, std::ranges::transform(own.both, by_class, as_float).out,
                           as_float);
  }
  return buffers_;
}

void ElasticLearner::apply(const ElasticUpdate& update) {
  if (update.is_average) {
    apply_average(update);
  } else {
    apply_step(update);
  }
}

void ElasticLearner::apply_average(const ElasticUpdate& update) {
  if (next_work() != Work::average) throw Error("an evaluation arrived where none was due");
  const Phase done = phase_;
  phase_ = after(done);
  if (update.is_poisoned || done == Phase::farewell) return;
  if (done == Phase::statistics) {
    std::ranges::copy(update.outputs.front(), common_statistics_.begin());
    std::ranges::copy(common_statistics_, model_->statistics().begin());
    return;
  }
  const std::span<const float> means = update.outputs.back();
  const double count = means[2];
  if (count == 0) return;
  const auto by_class = means.subspan(kScores);
  metrics_ = {.test_loss = means[0] / count,
              .accuracy = means[1] / count,
              .mean_iou = mean_iou(std::vector<double>(by_class.begin(), by_class.end()))};
}

ElasticLearner::Phase ElasticLearner::after(Phase evaluation) const {
  if (evaluation == Phase::statistics) return Phase::scores;
  if (evaluation == Phase::farewell) return Phase::over;
  return steps_done_ < plan_.steps ? Phase::training : Phase::farewell;
}

void ElasticLearner::apply_step(const ElasticUpdate& update) {
  if (phase_ != Phase::training) throw Error("a step arrived where an evaluation was due");
  GW_CHECK(update.outputs.size() == gradients_.size());
  if (update.is_poisoned) {
    if (!update.is_replay) std::ranges::copy(statistics_before_, model_->statistics().begin());
  } else {
    for (std::size_t i = 0; i < gradients_.size(); ++i) {
      if (update.outputs[i].data() == gradients_[i].data()) continue;
      std::ranges::copy(update.outputs[i], gradients_[i].begin());
    }
    if (task_.options.clip) clip_norm(model_->gradients(), *task_.options.clip);
    optimiser_.step(traits_.output, learning_rate(), model_->gradients(), model_->values());
  }
  last_used_ = samples_.finish_step(update.shares, update.lost_shares);
  ++steps_done_;
  if (is_evaluated()) phase_ = own_statistics_.empty() ? Phase::scores : Phase::statistics;
}

bool ElasticLearner::is_evaluated() const {
  return steps_done_ == plan_.steps || session::is_due(steps_done_, plan_.evaluate_every);
}

MethodState ElasticLearner::state() {
  MethodState state = replica_state(*model_, optimiser_);
  if (!common_statistics_.empty()) {
    state.tensors.push_back({kStatistics, {common_statistics_.size()}});
    state.arrays.push_back({kStatistics, kStatistics, Sharing::replicated, 0, common_statistics_});
  }
  state.numbers = {{kSteps, static_cast<double>(steps_done_)},
                   {kPhase, static_cast<double>(phase_)},
                   {kOptimiserSteps, static_cast<double>(optimiser_.steps())}};
  if (metrics_.test_loss) state.numbers[kTestLoss] = *metrics_.test_loss;
  if (metrics_.accuracy) state.numbers[kAccuracy] = *metrics_.accuracy;
  if (metrics_.mean_iou) state.numbers[kMeanIou] = *metrics_.mean_iou;
  state.blobs[kSamples] = samples_.save();
  return state;
}

void ElasticLearner::load(const MethodState& state) {
  if (state.spec != model_->spec()) {
    throw Error("the state of the run is of the model " + state.spec + ", not of " +
                model_->spec());
  }
  const auto samples = state.blobs.find(kSamples);
  if (samples == state.blobs.end())
    throw Error("the state of the run does not say which samples are next");
  if (const auto loaded = samples_.load(samples->second); !loaded) {
    throw Error("the state of the run does not fit to the data: " +
                std::string(loaded.error().what));
  }
  load_replica(state, *model_, optimiser_);
  if (!common_statistics_.empty()) {
    common_statistics_ =
        whole_array(state, kStatistics, kStatistics, common_statistics_.size()).values;
    std::ranges::copy(common_statistics_, model_->statistics().begin());
  }
  const double phase = number(state, kPhase);
  if (!(phase >= 0 && phase <= static_cast<double>(Phase::over))) {
    throw Error("the state of the run is in no known phase");
  }
  phase_ = static_cast<Phase>(static_cast<int>(phase));
  steps_done_ = static_cast<std::uint64_t>(number(state, kSteps));
  // A run that was over can be resumed with more steps.
  if (phase_ >= Phase::farewell && steps_done_ < plan_.steps) phase_ = Phase::training;
  optimiser_.set_steps(static_cast<std::uint64_t>(number(state, kOptimiserSteps)));
  metrics_ = {.test_loss = optional_number(state, kTestLoss),
              .accuracy = optional_number(state, kAccuracy),
              .mean_iou = optional_number(state, kMeanIou)};
}

std::vector<std::byte> ElasticLearner::save() { return to_bytes(state()); }

void ElasticLearner::load(std::span<const std::byte> bytes) {
  const auto state = parse_state(bytes);
  if (!state) {
    throw Error("the state of the run cannot be read: " + std::string(state.error().what));
  }
  load(*state);
}

std::uint64_t ElasticLearner::hash() {
  const std::array<std::uint64_t, 4> facts = {replica_hash(*model_, optimiser_), steps_done_,
                                              static_cast<std::uint64_t>(phase_),
                                              checksum(samples_.save())};
  return checksum(std::as_bytes(std::span(facts)));
}

}  // namespace gradwire::train
