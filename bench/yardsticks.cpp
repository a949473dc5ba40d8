#include "bench/yardsticks.h"

#include <array>
#include <bit>
#include <cstddef>
#include <cstring>
#include <numeric>

#include "bench/thread_cut.h"
#include "gradwire/core/check.h"

namespace gradwire::bench {
namespace {

constexpr std::size_t kLineFloats = 64 / sizeof(float);
constexpr std::size_t kPageFloats = 4096 / sizeof(float);

// Reads eight pages at a time, a line of each in turn: memory delivers more to several streams than
// to one, and the yardstick shall be the best that reading can do.
std::uint32_t sum_bits(std::span<const float> values) {
  constexpr std::size_t kBlockPages = 8;
  constexpr std::size_t kBlockFloats = kBlockPages * kPageFloats;
  std::array<std::uint32_t, kLineFloats> lanes{};
  const auto add_line = [&](std::size_t first) {
    const std::span<const float> line = values.subspan(first, kLineFloats);
    for (std::size_t i = 0; i < kLineFloats; ++i) lanes[i] += std::bit_cast<std::uint32_t>(line[i]);
  };
  std::size_t at = 0;
  for (; at + kBlockFloats <= values.size(); at += kBlockFloats) {
    for (std::size_t line = 0; line < kPageFloats; line += kLineFloats) {
      for (std::size_t page = 0; page < kBlockPages; ++page) {
        add_line(at + page * kPageFloats + line);
      }
    }
  }
  for (; at + kLineFloats <= values.size(); at += kLineFloats) add_line(at);
  std::uint32_t sum = std::accumulate(lanes.begin(), lanes.end(), std::uint32_t{0});
  for (; at < values.size(); ++at) sum += std::bit_cast<std::uint32_t>(values[at]);
  return sum;
}

}  // namespace

Yardsticks::Yardsticks(std::span<const float> source, std::span<float> target, ThreadPool& pool)
    : source_(source),
      target_(target),
      pool_(pool),
      segments_(cut_for_threads(source.size(), kPageFloats, pool.threads())),
      sums_(segments_.size()) {
  GW_CHECK(source.size() == target.size());
}

// A std::function keeps a lambda that holds `this` alone without allocating.
void Yardsticks::copy() {
  pool_.run(segments_.size(), [this](std::size_t i, std::size_t) {
    const auto [first, elements] = segments_[i];
    std::memcpy(&target_[first], &source_[first], elements * sizeof(float));
  });
}

std::uint32_t Yardsticks::read() {
  pool_.run(segments_.size(), [this](std::size_t i, std::size_t) {
    const auto [first, elements] = segments_[i];
    sums_[i] = sum_bits(source_.subspan(first, elements));
  });
  return std::accumulate(sums_.begin(), sums_.end(), std::uint32_t{0});
}

}  // namespace gradwire::bench
