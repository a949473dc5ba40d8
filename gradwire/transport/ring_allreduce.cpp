#include "gradwire/transport/ring_allreduce.h"

#include <chrono>
#include <cstddef>
#include <vector>

namespace gradwire {
namespace {

// A group of its own, so that it mixes with nothing else.
constexpr Tag kTag{.lane = Lane::hop, .group = 0xffff};

void wait(Transfer& transfer) {
  while (!transfer.wait_for(std::chrono::seconds(1))) {
  }
}

}  // namespace

// In 2 (N - 1) rounds every rank sends one of N parts to the next rank. In the first half, what
// arrives is added; in the second half it is the sum.
void ring_allreduce(Transport& transport, std::span<float> values) {
  const std::size_t size = transport.size(), rank = transport.rank();
  if (size == 1 || values.empty()) return;
  const auto part = [&](std::size_t number) {
    const std::size_t index = number % size;
    const std::size_t begin = values.size() * index / size;
    return values.subspan(begin, values.size() * (index + 1) / size - begin);
  };
  std::vector<float> arrived(values.size() / size + 1);
  const std::size_t next = (rank + 1) % size, previous = (rank + size - 1) % size;
  for (std::size_t round = 0; round < 2 * (size - 1); ++round) {
    const bool adds = round < size - 1;
    const auto out = part(rank + 2 * size - round);
    const auto in = part(rank + 2 * size - round - 1);
    const auto memory = adds ? std::span(arrived).first(in.size()) : in;
    const auto receiver = transport.receiver(previous, kTag, std::as_writable_bytes(memory));
    const auto sender = transport.sender(next, kTag, std::as_bytes(out));
    receiver->start();
    sender->start(out.size_bytes());
    wait(*receiver);
    wait(*sender);
    if (!adds) continue;
    for (std::size_t i = 0; i < in.size(); ++i) in[i] += arrived[i];
  }
}

}  // namespace gradwire
