#include "advise/prediction.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "gradwire/collective/layout.h"
#include "gradwire/core/check.h"
#include "gradwire/method/powersgd/low_rank_tensor.h"
#include "gradwire/method/step_order.h"
#include "gradwire/plan/uneven_links.h"

namespace gradwire::advise {
namespace {

// A message's way through the library, the kernel and the other side's, beside its bytes.
constexpr double kMessageSeconds = 20e-6;

const TopologySpeed& speed_on(const MethodSpeed& method, Topology topology) {
  const auto found = std::ranges::find(method.topologies, topology, &TopologySpeed::topology);
  GW_CHECK(found != method.topologies.end());
  return *found;
}

std::vector<double> payload_rates(const Scenario& scenario) {
  std::vector<double> rates = scenario.link_bits_per_second;
  if (rates.empty()) rates.assign(scenario.workers, scenario.bits_per_second);
  for (double& rate : rates) rate = plan::payload_rate(rate);
  return rates;
}

class Predictor {
 public:
  Predictor(const MethodSpeed& method, const MethodSpeed& none, const Scenario& scenario)
      : method_(method),
        none_(none),
        scenario_(scenario),
        link_rates_(payload_rates(scenario)),
        network_{.latency_seconds = scenario.latency_seconds,
                 .message_seconds = kMessageSeconds,
                 .byte_seconds = scenario.socket_byte_seconds,
                 .cores = scenario.cores_per_worker} {}

  Prediction predict(const TopologySpeed& speed) const {
    Prediction prediction{.topology = speed.topology};
    prediction.relative_error = error(speed.topology);
    if (method_.factor_rank) {
      const auto [left, right] = factor_elements();
      const TopologySpeed& exact = speed_on(none_, speed.topology);
      for (const std::size_t elements : {left, right}) {
        const auto exchange = plan_exchange(none_, exact, elements);
        prediction.exchange_seconds += seconds_of(exchange);
        add_bytes(prediction, exchange, 1);
      }
      // Nothing is sent meanwhile, so that a worker's two threads do not get in each other's way.
      const double turns = std::max(1.0, 1 / scenario_.cores_per_worker);
      prediction.exchange_seconds +=
          turns * method_.factor_seconds * static_cast<double>(scenario_.elements());
    } else {
      const auto exchange = plan_exchange(method_, speed, scenario_.elements());
      prediction.exchange_seconds = seconds_of(exchange);
      add_bytes(prediction, exchange, 1);
    }
    prediction.exchange_seconds += host_seconds(scenario_.elements());
    if (method_.every > 1) {
      spread(prediction);
    } else if (scenario_.compute_seconds) {
      add_step(speed, prediction);
    }
    return prediction;
  }

 private:
  plan::Links links() const {
    return {.bytes_per_second = link_rates_,
            .switch_bytes_per_second = plan::payload_rate(scenario_.switch_bits_per_second)};
  }

  double seconds_of(const plan::PlannedExchange& exchange) const {
    plan::Network network = network_;
    network.bytes_per_second = plan::even_rate(exchange, links());
    return plan::exchange_seconds(exchange, network);
  }

  // Ranks of a host add their gradients in shared memory, and each takes the mean from there. As if
  // one thread did it: the memory is shared, too.
  double host_seconds(std::size_t elements) const {
    const auto ranks = static_cast<double>(scenario_.ranks_per_host);
    if (ranks <= 1) return 0;
    const double arrays = (ranks - 1) + ranks;  // added, and then copied
    return arrays * static_cast<double>(elements * sizeof(float)) * scenario_.sum_byte_seconds;
  }

  plan::PlannedExchange plan_exchange(const MethodSpeed& method, const TopologySpeed& speed,
                                      std::size_t elements) const {
    const bool is_shared = traits_of(speed.topology).shares_evenly;
    plan::PlannedExchange exchange{
        .topology = speed.topology,
        .elements = elements,
        .ranks = scenario_.workers,
        .segment_elements = segment_elements(is_shared ? elements / scenario_.workers : elements,
                                             method.keeps_uploads),
        .up_bytes = speed.up_bytes,
        .down_bytes = speed.down_bytes,
        .codec = speed.seconds,
        .mean_waits = method.mean_waits,
        .decodes_last = method.has_memory};
    // Senders compute checksums, and receivers verify them.
    exchange.codec.encode += speed.up_bytes * scenario_.checksum_byte_seconds;
    exchange.codec.decode_add += speed.up_bytes * scenario_.checksum_byte_seconds;
    exchange.codec.encode_mean += speed.down_bytes * scenario_.checksum_byte_seconds;
    exchange.codec.decode += speed.down_bytes * scenario_.checksum_byte_seconds;
    return exchange;
  }

  // Of all left factors and all tensors that have none; of all right factors.
  std::pair<std::size_t, std::size_t> factor_elements() const {
    std::size_t left = 0;
    std::size_t right = 0;
    for (const MethodTensor& tensor : scenario_.tensors) {
      const auto size = LowRankTensor::compressed_size(tensor, *method_.factor_rank);
      left += size ? size->left_elements() : tensor.elements();
      right += size ? size->right_elements() : 0;
    }
    return {left, right};
  }

  void add_bytes(Prediction& prediction, const plan::PlannedExchange& exchange,
                 std::size_t times) const {
    const auto count = static_cast<double>(times);
    const double most = count * plan::bytes_sent(exchange, links());
    if (!traits_of(exchange.topology).has_server) {
      prediction.bytes_sent += most;
      return;
    }
    prediction.bytes_sent += count * plan::worker_bytes_sent(exchange);
    prediction.server_bytes_sent += most;
  }

  // Over the steps of a round. Nothing is computed during the exchange.
  void spread(Prediction& prediction) const {
    prediction.exchange_seconds /= static_cast<double>(method_.every);
    prediction.bytes_sent /= static_cast<double>(method_.every);
    prediction.server_bytes_sent /= static_cast<double>(method_.every);
    if (!scenario_.compute_seconds) return;
    prediction.step_seconds = *scenario_.compute_seconds + prediction.exchange_seconds;
  }

  void add_step(const TopologySpeed& speed, Prediction& prediction) const {
    // No overlap if the whole gradient is needed, or if the second factors need the first ones.
    const bool hides = !method_.needs_whole_gradient && !method_.factor_rank;
    const std::size_t groups = hides ? scenario_.groups() : 1;
    double each = prediction.exchange_seconds;
    if (groups > 1) {
      const auto exchange = plan_exchange(method_, speed, scenario_.elements() / groups);
      each = seconds_of(exchange) + host_seconds(scenario_.elements() / groups);
      prediction.exchange_seconds = static_cast<double>(groups) * each;
      prediction.bytes_sent = prediction.server_bytes_sent = 0;
      add_bytes(prediction, exchange, groups);
    }
    prediction.step_seconds = plan::step_seconds(*scenario_.compute_seconds, each, groups);
  }

  double error(Topology topology) const {
    const double up = method_.up_error * method_.up_error;
    const double down = method_.down_error * method_.down_error;
    const auto ranks = static_cast<double>(scenario_.workers);
    if (!traits_of(topology).has_downlink || method_.factor_rank) return method_.up_error;
    if (traits_of(topology).passes_sums) {
      // By every hop, and for the mean; but sums, and what has no codec for all, are exact there.
      const bool is_exact = method_.is_summed || !method_.codec;
      return is_exact ? method_.up_error : std::sqrt(std::pow(1 + up, ranks) - 1);
    }
    if (method_.is_unbiased || up > 1 || down > 1) return std::sqrt(up + down);
    // What is left of what was left; of the few elements that N workers keep, the largest Nth.
    return std::sqrt(1 - (1 - up) * std::max(1 - down, 1 / ranks));
  }

  const MethodSpeed& method_;
  const MethodSpeed& none_;
  const Scenario& scenario_;
  const std::vector<double> link_rates_;  // of each worker, in bytes per second
  const plan::Network network_;           // without the rate, which depends on the exchange
};

// A ring that rounds at every hop may be fast, and its mean mostly noise: one with much more error
// than on another topology is not the best one. Of those that are about as fast as the fastest, the
// first one: clocks are not exact, and the same question should get the same answer.
std::size_t fastest(const std::vector<Prediction>& topologies) {
  constexpr double kErrorMax = 1.5;  // times the least: two roundings, but not three
  const double least = std::ranges::min(topologies, {}, &Prediction::relative_error).relative_error;
  const auto is_exact = [&](const Prediction& each) {
    return each.relative_error <= kErrorMax * least;
  };
  double seconds = std::numeric_limits<double>::infinity();
  for (const Prediction& each : topologies) {
    if (is_exact(each)) seconds = std::min(seconds, each.seconds());
  }
  const auto found = std::ranges::find_if(topologies, [&](const Prediction& each) {
    return is_exact(each) && each.seconds() <= kAsFast * seconds;
  });
  return static_cast<std::size_t>(found - topologies.begin());
}

}  // namespace

std::size_t Scenario::elements() const { return total_elements(tensors); }

std::size_t Scenario::groups() const {
  // As train does it; a rest that is no whole group counts as a part of the last one.
  return std::clamp<std::size_t>(elements() / group_elements_for(elements()), 1, tensors.size());
}

MethodPredictions predict(const MethodSpeed& method, const MethodSpeed& none,
                          const Scenario& scenario) {
  const Predictor predictor(method, none, scenario);
  MethodPredictions predictions;
  for (const TopologySpeed& speed : method.topologies)
    predictions.topologies.push_back(predictor.predict(speed));
  predictions.best = fastest(predictions.topologies);
  return predictions;
}

}  // namespace gradwire::advise
