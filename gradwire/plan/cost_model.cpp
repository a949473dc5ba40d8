#include "gradwire/plan/cost_model.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <vector>

#include "gradwire/core/check.h"

namespace gradwire::plan {
namespace {

constexpr double kFrameBytes = 84;  // around a segment's payloads
// Who shares a core switches, finds caches cold and waits for a turn. As measured, for a worker's
// own threads, and once more for workers among one another.
constexpr double kSharing = 1.1;
constexpr double kThreads = 2;  // of a worker

// A stretch of elements as segments of equal length, which travel as one frame each.
struct Cut {
  Cut(double stretch, std::size_t segment_elements)
      : segments(static_cast<std::size_t>(
            std::max(1.0, std::ceil(stretch / static_cast<double>(segment_elements))))),
        elements(stretch / static_cast<double>(segments)) {}

  double frame_bytes(double bytes_per_element) const {
    return elements * bytes_per_element + kFrameBytes;
  }

  std::size_t segments;
  double elements;  // of each
};

// One worker's clocks. Seconds from the start of the exchange.
class Worker {
 public:
  explicit Worker(const Network& network)
      : network_(network),
        slower_(slowdown(network.cores)),
        shared_(std::clamp(kThreads - network.cores, 0.0, 1.0)),
        byte_seconds_(std::max(1 / network.bytes_per_second, slower_ * network.byte_seconds)) {}

  double now() const { return thread_; }
  void wait_until(double time) { thread_ = std::max(thread_, time); }
  void compute(double seconds) { thread_ += slower_ * seconds; }

  // As many messages, one after the other. Returns when the last of them is there.
  double send(double messages, double bytes) {
    if (messages == 0) return thread_;
    move(messages, bytes);
    out_ = std::max(out_, thread_) + messages * bytes * byte_seconds_;
    return out_ + network_.latency_seconds;
  }
  void take(double messages) { compute(messages * network_.message_seconds); }

  // The same into one link from many workers that were ready to send at a time.
  double take_from_many(double ready, double messages, double bytes) {
    move(messages, bytes);
    in_ = std::max(in_, ready) + messages * bytes * byte_seconds_;
    return in_ + network_.latency_seconds;
  }

  // All is sent and done.
  double end() const { return std::max(thread_, out_); }

 private:
  // What the thread has to do with it: also the other one's work, where there is no core for that.
  void move(double messages, double bytes) {
    compute(messages * (network_.message_seconds + shared_ * bytes * network_.byte_seconds));
  }

  const Network& network_;
  double slower_;
  double shared_;
  double byte_seconds_;
  double thread_ = 0;  // when the thread that encodes and decodes is free
  double out_ = 0;     // when the links are
  double in_ = 0;
};

// A rank encodes before it decodes: others wait for that. In this order, with the thread waiting
// for what has not come yet, nothing takes longer for a faster link, as it could if the thread did
// whatever is there.

double play_gather(const PlannedExchange& exchange, const Network& network) {
  const CodecSeconds& codec = exchange.codec;
  const auto elements = static_cast<double>(exchange.elements);
  const auto ranks = static_cast<double>(exchange.ranks);
  const Cut cut(elements, exchange.segment_elements);
  const double add = ranks * codec.decode_add + codec.decode;

  Worker worker(network);
  std::vector<double> there(cut.segments);  // when a segment has come from all
  worker.compute(codec.prepare * elements);
  for (double& segment : there) {
    worker.compute(codec.encode * cut.elements);
    segment = worker.send(ranks - 1, cut.frame_bytes(exchange.up_bytes));
  }
  for (const double segment : there) {
    worker.wait_until(segment);
    worker.take(ranks - 1);
    if (!exchange.decodes_last) worker.compute(add * cut.elements);
  }
  if (exchange.decodes_last) worker.compute(add * elements);
  worker.compute(codec.settle * elements);
  return worker.end();
}

// Every worker is also an owner.
double play_scatter(const PlannedExchange& exchange, const Network& network) {
  const CodecSeconds& codec = exchange.codec;
  const auto elements = static_cast<double>(exchange.elements);
  const auto ranks = static_cast<double>(exchange.ranks);
  const Cut cut(elements / ranks, exchange.segment_elements);  // of a chunk

  Worker worker(network);
  std::vector<double> there(cut.segments);  // when a segment has come from all
  worker.compute(codec.prepare * elements);
  // A segment for each owner in turn, the own one last; then the next of each. Others are as far:
  // what they sent here has come when what was sent to them has.
  for (double& segment : there) {
    for (std::size_t owner = 1; owner < exchange.ranks; ++owner) {
      worker.compute(codec.encode * cut.elements);
      segment = worker.send(1, cut.frame_bytes(exchange.up_bytes));
    }
    worker.compute(codec.encode * cut.elements);
  }

  const auto send_mean = [&] {
    worker.compute(codec.encode_mean * cut.elements);
    if (!exchange.decodes_last) worker.compute(codec.decode * cut.elements);
    return worker.send(ranks - 1, cut.frame_bytes(exchange.down_bytes));
  };
  for (double& segment : there) {
    worker.wait_until(segment);
    worker.take(ranks - 1);
    worker.compute(ranks * codec.decode_add * cut.elements);
    if (!exchange.mean_waits) segment = send_mean();
  }
  if (exchange.mean_waits) std::ranges::generate(there, send_mean);

  for (const double segment : there) {
    worker.wait_until(segment);
    worker.take(ranks - 1);
    if (!exchange.decodes_last) worker.compute((ranks - 1) * codec.decode * cut.elements);
  }
  if (exchange.decodes_last) worker.compute(codec.decode * elements);
  worker.compute(codec.settle * elements);
  return worker.end();
}

// The server gives values, too, so it has more to do than the others. Its one link takes
// everything.
double play_server(const PlannedExchange& exchange, const Network& network) {
  const CodecSeconds& codec = exchange.codec;
  const auto elements = static_cast<double>(exchange.elements);
  const double others = static_cast<double>(exchange.ranks) - 1;
  const Cut cut(elements, exchange.segment_elements);

  Worker worker(network);
  Worker server(network);
  std::vector<double> up_there;
  for (Worker* each : {&worker, &server}) each->compute(codec.prepare * elements);
  for (std::size_t i = 0; i < cut.segments; ++i) {
    for (Worker* each : {&worker, &server}) each->compute(codec.encode * cut.elements);
    worker.send(std::min(others, 1.0), cut.frame_bytes(exchange.up_bytes));
    up_there.push_back(
        server.take_from_many(worker.now(), others, cut.frame_bytes(exchange.up_bytes)));
  }

  std::vector<double> down_there;
  const auto send_mean = [&] {
    server.compute(codec.encode_mean * cut.elements);
    if (!exchange.decodes_last) server.compute(codec.decode * cut.elements);
    down_there.push_back(server.send(others, cut.frame_bytes(exchange.down_bytes)));
  };
  for (const double there : up_there) {
    if (others > 0) server.wait_until(there);
    server.take(others);
    server.compute((others + 1) * codec.decode_add * cut.elements);
    if (!exchange.mean_waits) send_mean();
  }
  while (down_there.size() < cut.segments) send_mean();

  for (const double there : down_there) {
    worker.wait_until(there);
    worker.take(1);
    if (!exchange.decodes_last) worker.compute(codec.decode * cut.elements);
  }
  for (Worker* each : {&worker, &server}) {
    if (exchange.decodes_last) each->compute(codec.decode * elements);
    each->compute(codec.settle * elements);
  }
  return std::max(server.end(), others > 0 ? worker.end() : 0);
}

double play_ring(const PlannedExchange& exchange, const Network& network) {
  const CodecSeconds& codec = exchange.codec;
  const auto elements = static_cast<double>(exchange.elements);
  const Cut cut(elements / static_cast<double>(exchange.ranks), exchange.segment_elements);
  const double up_bytes = cut.frame_bytes(exchange.up_bytes);
  const double down_bytes = cut.frame_bytes(exchange.down_bytes);

  Worker worker(network);
  std::vector<double> there(cut.segments);
  worker.compute(codec.prepare * elements);
  const auto take_mean = [&] {
    if (!exchange.decodes_last) worker.compute(codec.decode * cut.elements);
  };
  // Sums: the first hop starts one, the last makes it a mean.
  for (std::size_t hop = 0; hop < exchange.ranks; ++hop) {
    const bool is_mean = hop + 1 == exchange.ranks;
    for (double& segment : there) {
      if (hop > 0) {
        worker.wait_until(segment);
        worker.take(1);
        worker.compute(codec.decode_add * cut.elements);
      }
      worker.compute(codec.encode * cut.elements);
      if (exchange.ranks > 1) segment = worker.send(1, is_mean ? down_bytes : up_bytes);
      if (is_mean) take_mean();
    }
  }
  // Means, which are passed on as they came but for the last time.
  for (std::size_t hop = 1; hop < exchange.ranks; ++hop) {
    for (double& segment : there) {
      worker.wait_until(segment);
      worker.take(1);
      if (hop + 1 < exchange.ranks) segment = worker.send(1, down_bytes);
      take_mean();
    }
  }
  if (exchange.decodes_last) worker.compute(codec.decode * elements);
  worker.compute(codec.settle * elements);
  return worker.end();
}

// What an exchange of a topology takes.
struct Formula {
  Topology topology;
  double (*seconds)(const PlannedExchange& exchange, const Network& network);

  // What the rank that sends most sends to each of the others: messages up, means down.
  bool sends_up;
  bool sends_down;
};

constexpr Formula kFormulas[] = {
    {.topology = Topology::scatter, .seconds = play_scatter, .sends_up = true, .sends_down = true},
    {.topology = Topology::server, .seconds = play_server, .sends_up = false, .sends_down = true},
    {.topology = Topology::gather, .seconds = play_gather, .sends_up = true, .sends_down = false},
    {.topology = Topology::ring, .seconds = play_ring, .sends_up = true, .sends_down = true},
};

const Formula& formula_of(Topology topology) {
  const auto found = std::ranges::find(kFormulas, topology, &Formula::topology);
  GW_CHECK(found != std::end(kFormulas));
  return *found;
}

}  // namespace

double payload_rate(double bits_per_second) {
  // Of packets of 1,500 bytes on Ethernet: 1,448 in the time of 1,538.
  return bits_per_second / 8 * 1448 / 1538;
}

double slowdown(double cores) {
  if (cores >= kThreads) return 1;
  return cores >= 1 ? kSharing : kSharing * kSharing / cores;
}

double exchange_seconds(const PlannedExchange& exchange, const Network& network) {
  GW_CHECK(exchange.ranks > 0 && exchange.segment_elements > 0);
  GW_CHECK(network.bytes_per_second > 0 && network.cores > 0);
  if (exchange.elements == 0) return 0;
  return formula_of(exchange.topology).seconds(exchange, network);
}

double bytes_sent(const PlannedExchange& exchange) {
  if (exchange.elements == 0 || exchange.ranks < 2) return 0;
  const auto elements = static_cast<double>(exchange.elements);
  const auto ranks = static_cast<double>(exchange.ranks);
  const bool is_shared = traits_of(exchange.topology).shares_evenly;
  const Cut cut(is_shared ? elements / ranks : elements, exchange.segment_elements);
  const double frames = (ranks - 1) * static_cast<double>(cut.segments);
  const Formula& formula = formula_of(exchange.topology);
  return (formula.sends_up ? frames * cut.frame_bytes(exchange.up_bytes) : 0) +
         (formula.sends_down ? frames * cut.frame_bytes(exchange.down_bytes) : 0);
}

double worker_bytes_sent(const PlannedExchange& exchange) {
  if (!traits_of(exchange.topology).has_server || exchange.elements == 0 || exchange.ranks < 2) {
    return bytes_sent(exchange);
  }
  const Cut cut(static_cast<double>(exchange.elements), exchange.segment_elements);
  return static_cast<double>(cut.segments) * cut.frame_bytes(exchange.up_bytes);
}

double step_seconds(double compute, double exchange, std::size_t groups) {
  GW_CHECK(groups > 0);
  constexpr double kBackwardShare = 2.0 / 3;
  const auto all = static_cast<double>(groups);
  const double before_last = (all - 1) * exchange;
  const double room = kBackwardShare * compute * (all - 1) / all;
  return compute + exchange + std::max(0.0, before_last - room);
}

}  // namespace gradwire::plan
