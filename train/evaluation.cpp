#include "train/evaluation.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "gradwire/codec/codec.h"
#include "gradwire/collective/rank_sums.h"

namespace gradwire::train {
namespace {

constexpr std::size_t kBatch = 200;

void add(std::span<const std::uint64_t> counts, std::vector<std::uint64_t>& sums) {
  sums.resize(counts.size());
  for (std::size_t i = 0; i < counts.size(); ++i) sums[i] += counts[i];
}

}  // namespace

Evaluation::Evaluation(Communicator& communicator, const data::Source& source, Model& model,
                       float weight)
    : communicator_(communicator),
      source_(source),
      model_(model),
      weight_(weight),
      mean_(model.statistics().size()) {
  if (mean_.empty()) return;
  exchange_ = make_exchange(communicator, {{"running statistics", mean_.size()}},
                            {.up = make_plain_codec()});
}

std::span<const float> Evaluation::mean_statistics(std::uint64_t step) {
  if (!exchange_) return mean_;
  const std::array<std::span<const float>, 1> values = {model_.statistics()};
  const std::array<std::span<float>, 1> means = {mean_};
  const ExchangeReport report =
      exchange_->run({.step = step, .weight = weight_, .values = values, .means = means});
  traffic_.bytes_sent += report.traffic.bytes_sent;
  traffic_.bytes_received += report.traffic.bytes_received;
  return mean_;
}

Traffic Evaluation::take_traffic() { return std::exchange(traffic_, {}); }

record::Metrics Evaluation::run(std::uint64_t step) {
  mean_statistics(step);
  kept_.assign(model_.statistics().begin(), model_.statistics().end());
  std::ranges::copy(mean_, model_.statistics().begin());
  const Score own = score_test(model_, source_, communicator_.rank(), communicator_.size(), batch_);
  std::ranges::copy(kept_, model_.statistics().begin());

  const auto losses = gather_from_ranks(communicator_, std::bit_cast<std::uint64_t>(own.loss));
  double loss = 0;
  for (const std::uint64_t bits : losses) loss += std::bit_cast<double>(bits);
  const std::array<std::uint64_t, 2> counts = {own.correct, own.count};
  const auto sums = sum_over_ranks(communicator_, counts);
  if (sums[1] == 0) return {};
  const auto count = static_cast<double>(sums[1]);
  return {.test_loss = loss / count,
          .accuracy = static_cast<double>(sums[0]) / count,
          .mean_iou = common_mean_iou(own)};
}

std::optional<double> Evaluation::common_mean_iou(const Score& own) {
  if (source_.shape().kind != data::SampleShape::Kind::segments) return std::nullopt;
  std::vector<std::uint64_t> counts = own.both;
  counts.insert(counts.end(), own.either.begin(), own.either.end());
  const std::size_t classes = source_.shape().classes;
  counts.resize(2 * classes);  // a rank without samples has none
  const auto sums = sum_over_ranks(communicator_, counts);
  return mean_iou(std::vector<double>(sums.begin(), sums.end()));
}

std::optional<double> mean_iou(std::span<const double> counts) {
  const std::size_t classes = counts.size() / 2;
  double sum = 0;
  double known = 0;
  for (std::size_t i = 0; i < classes; ++i) {
    if (counts[classes + i] == 0) continue;
    sum += counts[i] / counts[classes + i];
    ++known;
  }
  if (known == 0) return std::nullopt;
  return sum / known;
}

Score score_test(Model& model, const data::Source& source, std::size_t part, std::size_t parts,
                 data::Batch& batch) {
  Score sum;
  const std::size_t all = source.size(data::Part::test);
  for (std::size_t first = kBatch * part; first < all; first += kBatch * parts) {
    source.fill_test(first, std::min(kBatch, all - first), batch);
    const Score score = model.evaluate(batch);
    sum.loss += score.loss;
    sum.correct += score.correct;
    sum.count += score.count;
    add(score.both, sum.both);
    add(score.either, sum.either);
  }
  return sum;
}

}  // namespace gradwire::train
