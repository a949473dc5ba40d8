#include "session/network_task.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <vector>

#include "gradwire/core/usage_error.h"

namespace gradwire::session {
namespace {

constexpr double kEpochsUsual = 3;
constexpr std::size_t kBatchUsual = 64;
constexpr std::size_t kBatchUsualOfText = 16;  // a sample of text is many tokens
constexpr std::uint64_t kEvaluationsLeast = 5;
constexpr std::size_t kContextUsual = 128;

std::vector<train::SlowRank> slow_ranks(const std::string& text) {
  std::vector<train::SlowRank> all;
  const char* const end = text.data() + text.size();
  for (const char* at = text.data(); at != end;) {
    train::SlowRank& slow = all.emplace_back();
    const auto rank = std::from_chars(at, end, slow.rank);
    const bool has_factor = rank.ec == std::errc() && rank.ptr != end && *rank.ptr == ':';
    const auto factor = has_factor ? std::from_chars(rank.ptr + 1, end, slow.factor) : rank;
    const bool has_next = factor.ptr != end && *factor.ptr == ',' && factor.ptr + 1 != end;
    at = has_next ? factor.ptr + 1 : factor.ptr;
    if (!has_factor || factor.ec != std::errc() || !(slow.factor >= 1) ||
        (!has_next && at != end)) {
      throw UsageError(
          "--slow-rank expects ranks and factors of at least 1, such as 3:4 or 0:2,3:8, not '" +
          text + "'");
    }
  }
  return all;
}

std::optional<train::AwayRank> away_rank(const std::string& text) {
  if (text.empty()) return std::nullopt;
  constexpr std::string_view kTurns = "turns:";
  const char* const end = text.data() + text.size();
  train::AwayRank away;
  const char* at = text.data() + kTurns.size();
  if (!text.starts_with(kTurns)) {
    std::size_t rank = 0;
    const auto read = std::from_chars(text.data(), end, rank);
    const bool has_period = read.ec == std::errc() && read.ptr != end && *read.ptr == ':';
    at = has_period ? read.ptr + 1 : end;
    away.rank = rank;
  }
  const auto read = std::from_chars(at, end, away.period);
  if (read.ec != std::errc() || read.ptr != end || away.period < 1) {
    throw UsageError("--away expects a rank and a number of steps, such as 3:4 or turns:30, not '" +
                     text + "'");
  }
  return away;
}

}  // namespace

Grace grace_of(const TrainOptions& options) {
  const std::string& text = options.network.grace;
  if (text.empty()) return {};
  const char* const end = text.data() + text.size();
  Grace grace;
  const auto read = std::from_chars(text.data(), end, grace.share);
  const bool is_percent = read.ptr != end && *read.ptr == '%';
  if (is_percent) grace.share /= 100;
  if (read.ec != std::errc() || read.ptr + (is_percent ? 1 : 0) != end || !(grace.share > 0) ||
      grace.share > 1) {
    throw UsageError("--grace expects a share above 0 and at most 1, such as 75%, not '" + text +
                     "'");
  }
  return grace;
}

std::shared_ptr<const data::Source> open_data(const TrainOptions& options) {
  std::shared_ptr<const data::Source> source = data::open_source(
      options.data_or_usual(), {.seed = options.seed,
                                .context = options.network.context.value_or(kContextUsual),
                                .words = options.network.words,
                                .augment = !options.network.no_augmentation});
  const bool is_text = source->shape().kind == data::SampleShape::Kind::text;
  if (!is_text && (options.network.words || options.network.context)) {
    throw UsageError("--context and --words are for text, not for " + source->name());
  }
  return source;
}

train::TaskOptions task_options(const TrainOptions& options, const data::SampleShape& shape,
                                std::size_t threads) {
  const NetworkOptions& network = options.network;
  const bool is_text = shape.kind == data::SampleShape::Kind::text;
  train::TaskOptions task{
      .model = options.model,
      .split = data::parse_split(options.split),
      .batch = options.batch.value_or(is_text ? kBatchUsualOfText : kBatchUsual),
      .accumulate = network.accumulate,
      .balance = network.balance,
      .optimiser = train::parse_optimiser(network.optimiser),
      .regulariser = convex::parse_regulariser(options.regulariser_spec()),
      .clip = network.clip,
      .schedule = train::parse_schedule(network.schedule),
      .warmup_epochs = network.warmup_epochs,
      .operation_threads = network.threads.value_or(std::max<std::size_t>(threads, 1)),
      .seed = options.seed,
      .slow = slow_ranks(network.slow_rank),
      .away = away_rank(network.away)};
  const bool is_sgd = task.optimiser.kind == train::OptimiserOptions::Kind::sgd;
  task.learning_rate = network.learning_rate.value_or(is_sgd ? 0.05 : 0.001);
  if (options.workers.dedicated_server) task.dedicated_server = options.workers.server_rank();
  return task;
}

std::uint64_t steps_of(const TrainOptions& options, const train::Task& task) {
  if (options.steps) return *options.steps;
  const double epochs = options.network.epochs.value_or(kEpochsUsual);
  const double steps = std::ceil(epochs * static_cast<double>(task.steps_per_epoch()));
  return std::max<std::uint64_t>(static_cast<std::uint64_t>(steps), 1);
}

std::uint64_t evaluate_every_of(const TrainOptions& options, const train::Task& task,
                                std::uint64_t steps) {
  return options.network.evaluate_every.value_or(
      std::min(task.steps_per_epoch(), std::max<std::uint64_t>(steps / kEvaluationsLeast, 1)));
}

}  // namespace gradwire::session
