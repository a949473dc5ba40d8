#include "convex/worker.h"

#include <algorithm>
#include <array>
#include <chrono>

#include "gradwire/core/check.h"
#include "gradwire/core/random.h"
#include "record/step_log.h"

namespace gradwire::convex {
namespace {

template <class Work>
double seconds_of(Work work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

Worker::Worker(const Experiment& experiment, const WorkerOptions& options)
    : experiment_(experiment),
      shard_(experiment.shard(options.rank)),
      options_(options),
      x_(experiment.problem().features(),
         experiment.objective().regulariser.prox(0, options.learning_rate)),
      x_float_(x_.size()),
      gradient_(x_.size()),
      old_gradient_(x_.size()),
      x_rounded_(x_.size()),
      gradient_exact_(x_.size()) {}

void Worker::set_x(std::span<const double> x) {
  GW_CHECK(x.size() == x_.size());
  std::ranges::copy(x, x_.begin());
}

record::StepRecord Worker::step(Method& method, std::uint64_t step) {
  record::StepRecord record{.step = step + 1, .learning_rate = options_.learning_rate};
  record.seconds = seconds_of([&] { take_step(method, step, record); });
  return record;
}

void Worker::take_step(Method& method, std::uint64_t step, record::StepRecord& record) {
  record.phases.compute_seconds = seconds_of([&] {
    draw_batch(step);
    std::ranges::transform(x_, x_float_.begin(), [](double x) { return static_cast<float>(x); });
    find_gradient(method.traits().needs_parameters ? rounded(x_float_) : x_, gradient_);
  });
  const std::array<std::span<const float>, 1> parameters = {x_float_};
  const std::array<std::span<float>, 1> gradients = {gradient_};
  double more_compute_seconds = 0;
  const StepContext context{
      .step = step,
      .learning_rate = options_.learning_rate,
      .weight = static_cast<float>(shard_.weight),
      .parameters = parameters,
      .gradient_at =
          [&](std::span<const std::span<const float>> at, const TakeGradient& take) {
            more_compute_seconds +=
                seconds_of([&] { find_gradient(rounded(at[0]), old_gradient_); });
            take(0, old_gradient_);
          },
      .moved_squared = moved_squared_};
  const MethodReport report = method.run(context, gradients);
  record::note_report(report, record);
  record.phases.compute_seconds += more_compute_seconds;
  if (!record.poisoned)
    record.phases.compute_seconds += seconds_of([&] { move(method.traits().output); });
}

// With replacement: every row is as likely in every place, so the gradient is right on average.
void Worker::draw_batch(std::uint64_t step) {
  if (options_.batch == 0) return;
  batch_.clear();
  const std::uint64_t rows = shard_.rows.size();
  if (rows == 0) return;
  const RandomStream random = Rng{.seed = options_.seed,
                                  .step = step,
                                  .tensor = Rng::tensor_id("batch"),
                                  .rank = static_cast<std::uint32_t>(options_.rank),
                                  .purpose = Purpose::data}
                                  .stream(0, 0);
  for (std::uint32_t i = 0; i < options_.batch; ++i) {
    batch_.push_back(shard_.rows[random.at(i) * rows >> 32]);
  }
}

std::span<const double> Worker::rounded(std::span<const float> x) {
  std::ranges::copy(x, x_rounded_.begin());
  return x_rounded_;
}

void Worker::find_gradient(std::span<const double> x, std::span<float> gradient) {
  const RowNumbers rows = options_.batch == 0 ? RowNumbers(shard_.rows) : RowNumbers(batch_);
  experiment_.problem().gradient(rows, x, gradient_exact_);
  std::ranges::transform(gradient_exact_, gradient.begin(),
                         [](double slope) { return static_cast<float>(slope); });
}

void Worker::move(MethodTraits::Output output) {
  const Regulariser& regulariser = experiment_.objective().regulariser;
  const double gamma = options_.learning_rate;
  const double length = output == MethodTraits::Output::gradient ? gamma : 1;
  moved_squared_ = 0;
  for (std::size_t j = 0; j < x_.size(); ++j) {
    const double before = x_[j];
    x_[j] = regulariser.prox(before - length * static_cast<double>(gradient_[j]), gamma);
    moved_squared_ += (x_[j] - before) * (x_[j] - before);
  }
}

}  // namespace gradwire::convex
