#include "bench/codecs.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "bench/page_array.h"
#include "bench/statistics.h"
#include "bench/thread_cut.h"
#include "bench/yardsticks.h"
#include "gradwire/core/check.h"
#include "gradwire/core/error.h"
#include "gradwire/core/thread_pool.h"
#include "gradwire/kernel/target.h"

namespace gradwire::bench {
namespace {

constexpr std::size_t kLineBytes = 64;
constexpr float kWeight = 0.5F;  // of decode_add

// What all measurements share. Nothing in it grows while a clock runs.
struct Bench {
  Bench(std::span<const float> tensor, std::size_t payload_bytes, std::size_t threads)
      : source(tensor),
        target_array(tensor.size()),
        payload_array(payload_bytes),
        pool(threads),
        workspaces(threads) {}

  std::span<float> target() { return target_array.span(); }

  std::span<const float> source;
  PageArray<float> target_array;
  PageArray<std::byte> payload_array;
  ThreadPool pool;
  std::vector<Workspace> workspaces;
  Yardsticks yardsticks{source, target(), pool};
};

// Where the segments of a codec lie in the tensor, and their payloads in the payload array.
struct PayloadPlan {
  struct Part {
    SegmentRange segment;
    std::size_t payload_at = 0;  // the start of a line
    std::size_t payload_bytes_max = 0;
  };

  PayloadPlan(const Codec& codec, std::size_t elements, std::size_t threads) {
    for (const auto& segment : cut_for_threads(elements, codec.bucket_elements(), threads)) {
      const std::size_t bytes_max = codec.payload_bytes_max(segment.elements, elements);
      parts.push_back({.segment = segment, .payload_at = bytes, .payload_bytes_max = bytes_max});
      bytes += (bytes_max + kLineBytes - 1) / kLineBytes * kLineBytes;
    }
  }

  std::vector<Part> parts;
  std::size_t bytes = 0;
};

// One codec at work on the tensor. The lambdas that the pool gets hold `this` and nothing else:
// then std::function keeps them without allocating.
class CodecWork {
 public:
  CodecWork(const Codec& codec, Bench& bench)
      : codec_(codec),
        bench_(bench),
        plan_(codec, bench.source.size(), bench.pool.threads()),
        payloads_(plan_.parts.size()) {}

  // The step names the random numbers: no two rounds round alike.
  void encode(std::uint64_t step) {
    rng_.step = step;
    codec_.measure(bench_.source, rng_, scale_, bench_.pool);
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

  // Of what was encoded last.
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

Lap run_lap(Bench& bench, CodecWork& work, std::uint64_t step) {
  // In braces, the order of evaluation is that of the text.
  return {.copy = seconds([&] { bench.yardsticks.copy(); }),
          .read = seconds([&] { bench.yardsticks.read(); }),
          .encode = seconds([&] { work.encode(step); }),
          .decode = seconds([&] { work.decode(); }),
          .decode_add = seconds([&] { work.decode_add(); })};
}

template <class Figure>
double median_of(const std::vector<Lap>& laps, Figure figure) {
  std::vector<double> figures;
  for (const Lap& lap : laps) figures.push_back(figure(lap));
  return median(std::move(figures));
}

// Medians over the laps.
Speed speed(const std::vector<Lap>& laps, double Lap::*part, std::size_t elements) {
  const double gigabytes = static_cast<double>(elements * sizeof(float)) * 1e-9;
  return {.gbps = median_of(laps, [&](const Lap& lap) { return gigabytes / (lap.*part); }),
          .memcpy_ratio = median_of(laps, [&](const Lap& lap) { return lap.copy / (lap.*part); })};
}

std::size_t payload_bytes_max(const Codecs& codecs, std::size_t elements, std::size_t threads) {
  std::size_t bytes = 0;
  for (const auto& codec : codecs) {
    bytes = std::max(bytes, PayloadPlan(*codec, elements, threads).bytes);
  }
  return bytes;
}

}  // namespace

std::size_t codecs_steps(const Codecs& codecs, const CodecsOptions& options) {
  return codecs.size() * (1 + options.rounds);
}

CodecsFigures measure_codecs(std::span<const float> tensor, const Codecs& codecs,
                             const CodecsOptions& options, console::Progress& progress) {
  GW_CHECK(!tensor.empty());
  GW_CHECK(options.rounds > 0);
  const kernel::HeldTarget held(options.target);
  Bench bench(tensor, payload_bytes_max(codecs, tensor.size(), options.threads), options.threads);
  std::vector<CodecWork> works;
  CodecsFigures figures;
  figures.target = kernel::target_in_use();

  // Sizes and errors are no matter of time: they come from a round that warms everything up.
  for (const auto& codec : codecs) {
    progress.step(codec->spec());
    CodecWork& work = works.emplace_back(*codec, bench);
    run_lap(bench, work, 0);
    work.decode();
    CodecFigures& codec_figures = figures.codecs.emplace_back();
    codec_figures.spec = codec->spec();
    codec_figures.bits_per_element = work.bits_per_element();
    codec_figures.relative_error = relative_error(bench.target(), tensor);
  }

  std::vector<std::vector<Lap>> laps(codecs.size());
  for (std::size_t round = 1; round <= options.rounds; ++round) {
    for (std::size_t c = 0; c < codecs.size(); ++c) {
      progress.step(codecs[c]->spec());
      laps[c].push_back(run_lap(bench, works[c], round));
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

}  // namespace gradwire::bench
