#include "train/learner.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "data/sampler.h"
#include "gradwire/core/check.h"
#include "gradwire/kernel/sums.h"
#include "train/learn_batch.h"

namespace gradwire::train {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

void copy(std::span<const float> from, std::vector<float>& to) {
  to.assign(from.begin(), from.end());
}

}  // namespace

// Hands gradients to the method in the order of the tensors, as soon as that order allows. A method
// that needs the whole gradient may ask for other gradients of the batch when it has it, so it gets
// all when the backward pass is over.
class Learner::Submission {
 public:
  Submission(Learner& learner, Method& method, const TakeGradient& take)
      : learner_(learner),
        method_(method),
        take_(take),
        waits_(method.traits().needs_whole_gradient),
        is_ready_(learner.model_->parameters().size()) {}

  void ready(std::size_t parameter) {
    is_ready_[parameter] = true;
    if (!waits_) submit();
  }
  void finish() {
    submit();
    GW_CHECK(next_ == is_ready_.size());
  }

 private:
  void submit() {
    for (; next_ < is_ready_.size() && is_ready_[next_]; ++next_) {
      const std::span<float> gradient = learner_.gradient(next_);
      if (take_) take_(next_, gradient);
      method_.submit(next_, gradient);
    }
  }

  Learner& learner_;
  Method& method_;
  const TakeGradient& take_;
  const bool waits_;
  std::vector<bool> is_ready_;
  std::size_t next_ = 0;
};

Learner::Learner(const Task& task, std::size_t rank, std::uint64_t steps,
                 const MethodTraits& traits)
    : task_(task),
      rank_(rank),
      steps_(steps),
      is_local_(traits.output == MethodTraits::Output::model),
      rates_(task.rate_plan(steps)),
      model_(make_model(task.options.model, task.source->shape(), task.options.seed)),
      optimiser_(left_behind(traits, task.options.optimiser), task.options.regulariser,
                 model_->values().size()) {
  if (const auto worker = task.worker_of(rank)) {
    const std::size_t batch = task.options.batch * task.options.accumulate;
    if (task.options.balance) {
      auto shared = std::make_unique<data::SharedSampler>(task.source->size(data::Part::train),
                                                          task.global_batch(), task.options.seed,
                                                          *worker, task.shards.size());
      shared_sampler_ = shared.get();
      sampler_ = std::move(shared);
    } else {
      sampler_ = std::make_unique<data::Sampler>(task.shards, batch, task.options.seed, *worker);
    }
  }
  for (const Parameter& parameter : model_->parameters()) {
    parameters_.push_back(model_->values().subspan(parameter.first, parameter.elements));
  }
}

void Learner::set_shares(std::span<const std::uint32_t> shares) {
  if (shared_sampler_ != nullptr) shared_sampler_->set_shares(shares);
}

std::vector<MethodTensor> Learner::tensors() const {
  std::vector<MethodTensor> tensors;
  for (const Parameter& parameter : model_->parameters()) {
    tensors.push_back({.name = parameter.name, .shape = parameter.shape});
  }
  return tensors;
}

std::span<float> Learner::gradient(std::size_t parameter) {
  const Parameter& which = model_->parameters()[parameter];
  return model_->gradients().subspan(which.first, which.elements);
}

session::StepDone Learner::step(Method& method, std::uint64_t step, const TakeGradient& take_own) {
  const auto start = Clock::now();
  session::StepDone done;
  done.record.step = step + 1;
  done.record.learning_rate = rates_.at(step);
  if (method.input(step) == Method::Input::parameters) {
    take_own_step(method, step, take_own, done);
  } else {
    take_step(method, step, take_own, done);
  }
  done.record.seconds = seconds_since(start);
  return done;
}

void Learner::take_step(Method& method, std::uint64_t step, const TakeGradient& take_own,
                        session::StepDone& done) {
  record::StepRecord& record = done.record;
  const MethodTraits traits = method.traits();
  double old_gradient_seconds = 0;
  const bool wants_gradient = method.wants_gradient();
  samples_ = sampler_ && wants_gradient ? sampler_->at(step) : std::span<const std::uint32_t>();
  method.begin({.step = step,
                .learning_rate = record.learning_rate,
                .weight = sampler_ ? sampler_->weight(step) : 0,
                .has_gradient = wants_gradient,
                .parameters = parameters_,
                .gradient_at =
                    [&](std::span<const std::span<const float>> at, const TakeGradient& take) {
                      const auto begin = Clock::now();
                      find_old_gradient(step, at, take);
                      old_gradient_seconds += seconds_since(begin);
                    },
                .moved_squared = moved_squared_});
  auto start = Clock::now();  // what a method does before a step, such as planning, is not counted
  copy(model_->statistics(), statistics_before_);
  std::ranges::fill(model_->gradients(), 0.0F);
  Submission submission(*this, method, take_own);
  const Score score = learn(step, [&](std::size_t parameter) { submission.ready(parameter); });
  submission.finish();
  record.phases.compute_seconds = seconds_since(start);
  const MethodReport report = method.finish();
  start = Clock::now();
  record::note_report(report, record);
  if (record.poisoned) {
    std::ranges::copy(statistics_before_, model_->statistics().begin());
  } else {
    move(traits, record.learning_rate);
  }
  record.phases.compute_seconds += seconds_since(start) + old_gradient_seconds;

  done.tally = {.loss = score.loss, .samples = score.count};
}

void Learner::take_own_step(Method& method, std::uint64_t step, const TakeGradient& take_own,
                            session::StepDone& done) {
  record::StepRecord& record = done.record;
  const auto start = Clock::now();
  const bool has_samples = sampler_ && !is_away(step - method.traits().after);
  samples_ = has_samples ? sampler_->at(step) : std::span<const std::uint32_t>();
  method.begin({.step = step,
                .learning_rate = record.learning_rate,
                .weight = has_samples ? sampler_->weight(step) : 0,
                .parameters = parameters_,
                .is_last = step + 1 == steps_});
  copy(model_->statistics(), statistics_before_);
  std::ranges::fill(model_->gradients(), 0.0F);
  const Score score = learn(step, {});
  for (std::size_t i = 0; take_own && i < parameters_.size(); ++i) take_own(i, gradient(i));
  const bool is_finite =
      kernel::is_finite_magnitude(kernel::largest_magnitude(model_->gradients()));
  if (!is_finite) {
    std::ranges::copy(statistics_before_, model_->statistics().begin());
  } else if (!samples_.empty()) {
    move(method.traits(), record.learning_rate);
  }
  record.phases.compute_seconds = seconds_since(start);
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const Parameter& parameter = model_->parameters()[i];
    method.submit(i, model_->values().subspan(parameter.first, parameter.elements));
  }
  record::note_report(method.finish(), record);
  record.poisoned = record.poisoned || !is_finite;
  done.tally = {.loss = score.loss, .samples = score.count};
}

bool Learner::is_away(std::uint64_t own_step) const {
  return task_.options.away && task_.options.away->is_away(rank_, own_step, task_.shards.size());
}

Score Learner::learn(std::uint64_t step, const Model::Ready& ready) {
  const auto start = Clock::now();
  const Score score = learn_batch(
      *model_, *task_.source, samples_,
      {.seed = task_.options.seed, .step = step, .rank = rank_, .parts = task_.options.accumulate},
      batch_, ready);
  const Clock::duration computed = Clock::now() - start;
  for (const SlowRank& slow : task_.options.slow) {
    if (slow.rank == rank_) std::this_thread::sleep_for((slow.factor - 1) * computed);
  }
  return score;
}

// The model goes there and comes back.
void Learner::find_old_gradient(std::uint64_t step, std::span<const std::span<const float>> at,
                                const TakeGradient& take) {
  copy(model_->values(), kept_values_);
  copy(model_->gradients(), kept_gradients_);
  copy(model_->statistics(), kept_statistics_);
  for (std::size_t i = 0; i < at.size(); ++i) {
    const Parameter& parameter = model_->parameters()[i];
    std::ranges::copy(at[i], model_->values().subspan(parameter.first).begin());
  }
  std::ranges::fill(model_->gradients(), 0.0F);
  learn(step, {});
  std::ranges::copy(kept_values_, model_->values().begin());
  std::ranges::swap_ranges(kept_gradients_, model_->gradients());
  std::ranges::copy(kept_statistics_, model_->statistics().begin());
  // The method compares with the gradients that it was given, which are back in their place.
  for (std::size_t i = 0; i < at.size(); ++i) {
    const Parameter& parameter = model_->parameters()[i];
    take(i, std::span(kept_gradients_).subspan(parameter.first, parameter.elements));
  }
}

void Learner::move(const MethodTraits& traits, double rate) {
  if (task_.options.clip) clip_norm(model_->gradients(), *task_.options.clip);
  const bool is_watched = traits.needs_parameters && !is_local_;
  if (is_watched) copy(model_->values(), kept_values_);
  optimiser_.step(traits.output, rate, model_->gradients(), model_->values());
  if (!is_watched) return;
  moved_squared_ = 0;
  for (std::size_t i = 0; i < kept_values_.size(); ++i) {
    const double moved = double{model_->values()[i]} - double{kept_values_[i]};
    moved_squared_ += moved * moved;
  }
}

}  // namespace gradwire::train
