#include "gradwire/method/lgreco/plan_agreement.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "gradwire/core/check.h"

namespace gradwire {
namespace {

constexpr std::size_t kPerCandidate = 3;  // error, bytes, seconds
constexpr std::size_t kProbeElements = std::size_t{1} << 16;
constexpr std::size_t kProbes = 3;

}  // namespace

PlanAgreement::Mean::Mean(Communicator& communicator, const char* name, std::size_t elements,
                          Topology topology, const MethodOptions& options)
    : values_(elements),
      exchange_(make_exchange(communicator, {{name, elements}},
                              {.up = make_plain_codec(),
                               .topology = topology,
                               .server = options.server,
                               .seed = options.seed})) {}

bool PlanAgreement::Mean::run(std::uint64_t step, float weight, MethodReport& report) {
  const std::span<const float> values = values_;
  const std::span<float> means = values_;
  ExchangeReport exchange = exchange_->run({.step = step,
                                            .weight = weight,
                                            .values = std::span(&values, 1),
                                            .means = std::span(&means, 1)});
  // What the ranks say to one another is no gradient, and spoils none.
  const bool is_finite = !std::exchange(exchange.poisoned, false);
  report.add(exchange);
  return is_finite;
}

PlanAgreement::PlanAgreement(Communicator& communicator, std::size_t layers, std::size_t candidates,
                             const MethodOptions& options)
    : communicator_(communicator),
      candidates_(candidates),
      costs_(communicator, "costs", layers * (1 + kPerCandidate * candidates), Topology::ring,
             options),
      numbers_(communicator, "numbers", 2 * layers + 2, Topology::ring, options),
      options_(options) {}

bool PlanAgreement::share(std::uint64_t step, std::vector<LayerCosts>& costs) {
  const std::span<float> row = costs_.values();
  std::size_t at = 0;
  for (const LayerCosts& layer : costs) {
    row[at++] = static_cast<float>(std::sqrt(layer.squared_norm));
    for (const auto& cost : layer.by_candidate) {
      row[at++] = cost ? static_cast<float>(std::sqrt(cost->squared_error)) : 0;
      row[at++] = cost ? static_cast<float>(cost->bytes) : 0;
      row[at++] = cost ? static_cast<float>(cost->seconds) : 0;
    }
  }
  GW_CHECK(at == row.size());
  if (!costs_.run(step, 1, report_)) return false;
  at = 0;
  const auto squared = [](float value) { return double{value} * double{value}; };
  for (LayerCosts& layer : costs) {
    layer.squared_norm = squared(row[at++]);
    for (auto& cost : layer.by_candidate) {
      if (cost) *cost = {squared(row[at]), double{row[at + 1]}, double{row[at + 2]}};
      at += kPerCandidate;
    }
  }
  return true;
}

bool PlanAgreement::share(std::uint64_t step, std::span<double> numbers) {
  const std::span<float> row = numbers_.values();
  GW_CHECK(numbers.size() <= row.size());
  std::ranges::fill(row, 0.0F);
  for (std::size_t i = 0; i < numbers.size(); ++i) row[i] = static_cast<float>(numbers[i]);
  if (!numbers_.run(step, 1, report_)) return false;
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = double{row[i]};
  return true;
}

std::vector<std::size_t> PlanAgreement::hear(std::uint64_t step, std::vector<std::size_t> choices) {
  const std::span<float> row = numbers_.values();
  const bool is_first = communicator_.rank() == 0;
  std::ranges::fill(row, 0.0F);
  for (std::size_t i = 0; i < choices.size() && is_first; ++i) {
    row[i] = static_cast<float>(choices[i]);
  }
  GW_CHECK(numbers_.run(step, is_first ? 1 : 0, report_));
  for (std::size_t i = 0; i < choices.size(); ++i) choices[i] = static_cast<std::size_t>(row[i]);
  return choices;
}

PlanAgreement::Link PlanAgreement::probe(std::uint64_t step, Topology topology) {
  if (!probe_) {
    probe_ = std::make_unique<Mean>(communicator_, "probe", kProbeElements, topology, options_);
    empty_probe_ = std::make_unique<Mean>(communicator_, "empty probe", 1, topology, options_);
  }
  // The quickest of a few: what else the machine does is not the link's.
  const auto quickest = [&](Mean& mean) {
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < kProbes; ++i) {
      communicator_.barrier();
      const auto start = std::chrono::steady_clock::now();
      mean.run(step, 1, report_);
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
      least = std::min(least, took.count());
    }
    return least;
  };
  const double latency = quickest(*empty_probe_);
  const double whole = quickest(*probe_);
  const double bytes = static_cast<double>(kProbeElements * sizeof(float));
  // At least as fast as anything that can be told apart from no time at all.
  std::vector<double> link = {latency, std::max(whole - latency, 1e-6) / bytes};
  share(step, link);
  return {.latency_seconds = link[0], .bytes_per_second = 1 / link[1]};
}

}  // namespace gradwire
