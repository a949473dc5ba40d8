#include "bench/links.h"

#include <algorithm>
#include <string>

namespace gradwire::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr Tag kTag{.lane = Lane::up};
constexpr std::size_t kRanksForAllPairs = 8;
constexpr std::size_t kPings = 31;
constexpr std::size_t kBlockBytes = std::size_t{1} << 20;
constexpr double kRateSeconds = 0.3;  // that a measurement of the rate should take
constexpr std::size_t kBlocksMax = 256;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// One rank's end of a pair.
class End {
 public:
  End(Transport& transport, std::size_t peer, std::chrono::seconds time_max)
      : peer_(peer),
        time_max_(time_max),
        out_(kBlockBytes),
        in_(kBlockBytes),
        sender_(transport.sender(peer, kTag, out_)),
        receiver_(transport.receiver(peer, kTag, in_)) {}

  void send(std::size_t bytes) {
    sender_->start(bytes);
    finish(*sender_);
  }
  void receive() {
    receiver_->start();
    finish(*receiver_);
  }
  // A block, and a byte back when it has come.
  void send_block() {
    send(kBlockBytes);
    receive();
  }
  void receive_block() {
    receive();
    send(1);
  }

  // How many blocks are sent, told to the peer as the first byte of a message of its own.
  void tell(std::size_t blocks) {
    out_[0] = static_cast<std::byte>(blocks - 1);
    send(1);
  }
  std::size_t hear() {
    receive();
    return std::to_integer<std::size_t>(in_[0]) + 1;
  }

 private:
  void finish(Transfer& transfer) {
    const Clock::time_point until = Clock::now() + time_max_;
    while (!transfer.wait_for(std::chrono::milliseconds(100))) {
      if (Clock::now() < until) continue;
      throw PeerError("rank " + std::to_string(peer_) + " did not answer within " +
                          std::to_string(time_max_.count()) + " s",
                      peer_);
    }
  }

  const std::size_t peer_;
  const std::chrono::seconds time_max_;
  std::vector<std::byte> out_;
  std::vector<std::byte> in_;
  std::unique_ptr<Sender> sender_;
  std::unique_ptr<Receiver> receiver_;
};

double measure_latency(End& end) {
  std::vector<double> seconds;
  for (std::size_t i = 0; i < kPings; ++i) {
    const Clock::time_point start = Clock::now();
    end.send(1);
    end.receive();
    seconds.push_back(seconds_since(start) / 2);
  }
  std::ranges::nth_element(seconds, seconds.begin() + kPings / 2);
  return seconds[kPings / 2];
}

void answer_latency(End& end) {
  for (std::size_t i = 0; i < kPings; ++i) {
    end.receive();
    end.send(1);
  }
}

// The first blocks warm the connection up, and tell how many more it takes.
double measure_rate(End& end) {
  end.send_block();
  Clock::time_point start = Clock::now();
  end.send_block();
  const double one = std::max(seconds_since(start), 1e-6);
  const auto blocks = static_cast<std::size_t>(
      std::clamp(kRateSeconds / one, 1.0, static_cast<double>(kBlocksMax)));
  end.tell(blocks);
  start = Clock::now();
  for (std::size_t i = 0; i < blocks; ++i) end.send(kBlockBytes);
  end.receive();
  return 8.0 * static_cast<double>(kBlockBytes * blocks) / seconds_since(start);
}

void answer_rate(End& end) {
  end.receive_block();
  end.receive_block();
  const std::size_t blocks = end.hear();
  for (std::size_t i = 0; i < blocks; ++i) end.receive();
  end.send(1);
}

Link measure(End& end, std::size_t from, std::size_t to) {
  Link link{.from = from, .to = to};
  link.latency_seconds = measure_latency(end);
  link.bits_per_second = measure_rate(end);
  return link;
}

void answer(End& end) {
  answer_latency(end);
  answer_rate(end);
}

}  // namespace

std::vector<std::pair<std::size_t, std::size_t>> pairs_of(std::size_t ranks) {
  std::vector<std::pair<std::size_t, std::size_t>> pairs;
  for (std::size_t a = 0; a < ranks; ++a) {
    for (std::size_t b = a + 1; b < ranks; ++b) {
      const bool are_neighbours = b == a + 1 || (a == 0 && b == ranks - 1);
      if (ranks <= kRanksForAllPairs || are_neighbours) pairs.emplace_back(a, b);
    }
  }
  return pairs;
}

std::vector<Link> measure_links(Transport& transport, std::chrono::seconds answer_time_max) {
  std::vector<Link> links;
  const std::size_t rank = transport.rank();
  // In one order for all ranks: a rank waits for its partner, never for a pair that waits for it.
  for (const auto& [a, b] : pairs_of(transport.size())) {
    if (rank == a) {
      End end(transport, b, answer_time_max);
      links.push_back(measure(end, a, b));
      answer(end);
    } else if (rank == b) {
      End end(transport, a, answer_time_max);
      answer(end);
      links.push_back(measure(end, b, a));
    }
  }
  return links;
}

}  // namespace gradwire::bench
