#include "cli/bench_codec.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "cli/page_array.h"
#include "gradwire/codec/segments.h"
#include "gradwire/core/check.h"
#include "gradwire/core/error.h"
#include "gradwire/core/thread_pool.h"

namespace gradwire::cli {
namespace {

constexpr std::size_t kSegmentsPerThread = 4;  // so that threads help one that is held up
constexpr std::size_t kLineBytes = 64;
constexpr std::size_t kLineFloats = kLineBytes / sizeof(float);
constexpr std::size_t kPageFloats = 4096 / sizeof(float);
constexpr float kWeight = 0.5F;  // of decode_add

constexpr std::size_t divide_up(std::size_t a, std::size_t b) { return (a + b - 1) / b; }

// One segment for one thread; otherwise segments of equal length that the threads share.
std::vector<SegmentRange> cut_for_threads(std::size_t elements, std::size_t bucket_elements,
                                          std::size_t threads) {
  const std::size_t segments = threads == 1 ? 1 : threads * kSegmentsPerThread;
  const std::size_t buckets = divide_up(elements, bucket_elements);
  return cut_segments({.elements = elements,
                       .bucket_elements = bucket_elements,
                       .segment_elements_max = divide_up(buckets, segments) * bucket_elements});
}

// What all measurements share. Nothing in it grows while a clock runs.
struct Bench {
  std::span<const float> source;
  PageArray<float> target_array;
  PageArray<std::byte> payload_array;
  ThreadPool pool;
  std::vector<Workspace> workspaces;

  Bench(std::span<const float> tensor, std::size_t payload_bytes, std::size_t threads)
      : source(tensor),
        target_array(tensor.size()),
        payload_array(payload_bytes),
        pool(threads),
        workspaces(threads) {}

  std::span<float> target() { return target_array.span(); }
};

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
  std::uint32_t sum = 0;
  for (const std::uint32_t lane : lanes) sum += lane;
  for (; at < values.size(); ++at) sum += std::bit_cast<std::uint32_t>(values[at]);
  return sum;
}

// The lambdas that the pool gets in the classes below hold `this` and nothing else: then
// std::function keeps them without allocating.

// What memory allows: copying the tensor, and reading it.
class Yardsticks {
 public:
  explicit Yardsticks(Bench& bench)
      : bench_(bench),
        segments_(cut_for_threads(bench.source.size(), kPageFloats, bench.pool.threads())),
        sums_(segments_.size()) {}

  void copy() {
    bench_.pool.run(segments_.size(), [this](std::size_t i, std::size_t) {
      const std::span<const float> part = source_part(i);
      std::memcpy(&bench_.target()[segments_[i].first], part.data(), part.size_bytes());
    });
  }
  void read() {
    bench_.pool.run(segments_.size(),
                    [this](std::size_t i, std::size_t) { sums_[i] = sum_bits(source_part(i)); });
  }

 private:
  std::span<const float> source_part(std::size_t i) const {
    return bench_.source.subspan(segments_[i].first, segments_[i].elements);
  }

  Bench& bench_;
  std::vector<SegmentRange> segments_;
  std::vector<std::uint32_t> sums_;  // nobody reads them, but they must be computed
};

// Where the segments of a codec lie in the tensor, and their payloads in the payload array.
struct PayloadPlan {
  struct Part {
    SegmentRange segment;
    std::size_t payload_at = 0;
    std::size_t payload_bytes_max = 0;
  };
  std::vector<Part> parts;
  std::size_t bytes = 0;

  PayloadPlan(const Codec& codec, std::size_t elements, std::size_t threads) {
    for (const auto& segment : cut_for_threads(elements, codec.bucket_elements(), threads)) {
      const std::size_t bytes_max = codec.payload_bytes_max(segment.elements, elements);
      parts.push_back({.segment = segment, .payload_at = bytes, .payload_bytes_max = bytes_max});
      bytes += divide_up(bytes_max, kLineBytes) * kLineBytes;
    }
  }
};

// One codec at work on the tensor.
class CodecWork {
 public:
  CodecWork(const Codec& codec, Bench& bench)
      : codec_(codec),
        bench_(bench),
        plan_(codec, bench.source.size(), bench.pool.threads()),
        payloads_(plan_.parts.size()) {}

  // Everything that depends on the step is new in each: the numbers of the random rounding.
  void encode(std::uint64_t step) {
    rng_.step = step;
    codec_.measure(bench_.source, rng_, scale_);
    bench_.pool.run(plan_.parts.size(), [this](std::size_t i, std::size_t thread) {
      const auto& [segment, payload_at, payload_bytes_max] = plan_.parts[i];
      const TensorRange range{.values = bench_.source.subspan(segment.first, segment.elements),
                              .first = segment.first};
      const std::span<std::byte> room =
          bench_.payload_array.span().subspan(payload_at, payload_bytes_max);
      payloads_[i] =
          room.first(codec_.encode(scale_, range, rng_, room, bench_.workspaces[thread]).bytes);
    });
  }
  void decode() {
    bench_.pool.run(plan_.parts.size(), [this](std::size_t i, std::size_t thread) {
      check(codec_.decode(payloads_[i], target_part(i), bench_.workspaces[thread]));
    });
  }
  void decode_add() {
    bench_.pool.run(plan_.parts.size(), [this](std::size_t i, std::size_t thread) {
      check(codec_.decode_add(payloads_[i], kWeight, target_part(i), bench_.workspaces[thread]));
    });
  }

  double bits_per_element() const {
    std::size_t bytes = 0;
    for (const auto& payload : payloads_) bytes += payload.size();
    return 8 * static_cast<double>(bytes) / static_cast<double>(bench_.source.size());
  }

 private:
  std::span<float> target_part(std::size_t i) const {
    const SegmentRange& segment = plan_.parts[i].segment;
    return bench_.target().subspan(segment.first, segment.elements);
  }
  void check(const Decoded<void>& decoded) const {
    if (decoded) return;
    throw Error(fmt::format("{} refuses its own payload at byte {}: {}; this is a bug of gradwire",
                            codec_.spec(), decoded.error().byte_offset, decoded.error().what));
  }

  const Codec& codec_;
  Bench& bench_;
  PayloadPlan plan_;
  std::vector<std::span<const std::byte>> payloads_;
  Rng rng_{.seed = 1};
  Scale scale_;
};

double relative_error(std::span<const float> decoded, std::span<const float> original) {
  double error_squares = 0, squares = 0;
  for (std::size_t i = 0; i < original.size(); ++i) {
    const double error = double{decoded[i]} - double{original[i]};
    error_squares += error * error;
    squares += double{original[i]} * double{original[i]};
  }
  return std::sqrt(error_squares / squares);
}

// The seconds that each part of one round took for one codec.
struct Lap {
  double copy = 0;
  double read = 0;
  double encode = 0;
  double decode = 0;
  double decode_add = 0;
};

template <class Work>
double seconds(Work work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

Lap run_lap(Yardsticks& yardsticks, CodecWork& work, std::uint64_t step) {
  // In braces, the order of evaluation is that of the text.
  return {.copy = seconds([&] { yardsticks.copy(); }),
          .read = seconds([&] { yardsticks.read(); }),
          .encode = seconds([&] { work.encode(step); }),
          .decode = seconds([&] { work.decode(); }),
          .decode_add = seconds([&] { work.decode_add(); })};
}

template <class Figure>
double median(const std::vector<Lap>& laps, Figure figure) {
  std::vector<double> figures;
  for (const Lap& lap : laps) figures.push_back(figure(lap));
  std::sort(figures.begin(), figures.end());
  const std::size_t middle = figures.size() / 2;
  return figures.size() % 2 == 1 ? figures[middle] : (figures[middle - 1] + figures[middle]) / 2;
}

// Medians over the laps.
Speed speed(const std::vector<Lap>& laps, double Lap::*part, std::size_t elements) {
  const double gigabytes = static_cast<double>(elements * sizeof(float)) * 1e-9;
  return {.gbps = median(laps, [&](const Lap& lap) { return gigabytes / (lap.*part); }),
          .memcpy_ratio = median(laps, [&](const Lap& lap) { return lap.copy / (lap.*part); })};
}

}  // namespace

std::size_t bench_steps(const Codecs& codecs, const BenchOptions& options) {
  return codecs.size() * (options.rounds + 1);
}

BenchFigures bench_codecs(std::span<const float> tensor, const Codecs& codecs,
                          const BenchOptions& options, Progress& progress) {
  GW_CHECK(!tensor.empty());
  GW_CHECK(options.rounds > 0);
  std::size_t payload_bytes = 0;
  for (const auto& codec : codecs) {
    payload_bytes =
        std::max(payload_bytes, PayloadPlan(*codec, tensor.size(), options.threads).bytes);
  }
  Bench bench(tensor, payload_bytes, options.threads);
  Yardsticks yardsticks(bench);
  std::vector<CodecWork> works;
  BenchFigures figures;

  // Size and error, which are no matter of time, from a round that also warms everything up.
  for (const auto& codec : codecs) {
    progress.step(codec->spec());
    CodecWork& work = works.emplace_back(*codec, bench);
    run_lap(yardsticks, work, 0);
    work.decode();
    figures.codecs.push_back({.spec = codec->spec(),
                              .encode = {},
                              .decode = {},
                              .decode_add = {},
                              .bits_per_element = work.bits_per_element(),
                              .relative_error = relative_error(bench.target(), tensor)});
  }

  std::vector<std::vector<Lap>> laps(codecs.size());
  for (std::size_t round = 1; round <= options.rounds; ++round) {
    for (std::size_t c = 0; c < codecs.size(); ++c) {
      progress.step(codecs[c]->spec());
      laps[c].push_back(run_lap(yardsticks, works[c], round));
    }
  }

  std::vector<Lap> all_laps;
  for (std::size_t c = 0; c < codecs.size(); ++c) {
    figures.codecs[c].encode = speed(laps[c], &Lap::encode, tensor.size());
    figures.codecs[c].decode = speed(laps[c], &Lap::decode, tensor.size());
    figures.codecs[c].decode_add = speed(laps[c], &Lap::decode_add, tensor.size());
    all_laps.insert(all_laps.end(), laps[c].begin(), laps[c].end());
  }
  figures.memcpy_gbps = speed(all_laps, &Lap::copy, tensor.size()).gbps;
  figures.read_gbps = speed(all_laps, &Lap::read, tensor.size()).gbps;
  return figures;
}

}  // namespace gradwire::cli
