#include "bench/allreduce.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string_view>

#include "bench/page_array.h"
#include "bench/statistics.h"
#include "gradwire/collective/rank_sums.h"
#include "gradwire/core/check.h"
#include "gradwire/core/error.h"
#include "gradwire/wire/frame.h"

namespace gradwire::bench {
namespace {

constexpr std::string_view kSumName = "fp32 allreduce";
constexpr std::string_view kGlooName = "Gloo's fp32 allreduce";
constexpr std::string_view kScaleName = "scaling in place";

template <class Work>
double milliseconds(Work work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
      .count();
}

// The parts of an array that are the tensors, which lie in it one after the other.
template <class T>
std::vector<std::span<T>> cut(std::span<T> array, const std::vector<MethodTensor>& tensors) {
  std::vector<std::span<T>> parts;
  for (const MethodTensor& tensor : tensors) {
    parts.push_back(array.first(tensor.elements()));
    array = array.subspan(tensor.elements());
  }
  GW_CHECK(array.empty());
  return parts;
}

// What one step took.
struct Lap {
  double ms = 0;
  double ratio = 0;
  MethodReport report;
};

// One rank's side of the measurement. Nothing in it grows while a clock runs.
class AllreduceBench {
 public:
  AllreduceBench(Communicator& communicator, std::span<const float> values,
                 const std::vector<MethodTensor>& tensors, const AllreduceOptions& options,
                 GlooAllreduce* gloo)
      : communicator_(communicator),
        gloo_(gloo),
        options_(options),
        tensors_(tensors),
        values_(values),
        mean_(values.size()),
        value_parts_(cut(values_, tensors)),
        mean_parts_(cut(mean_.span(), tensors)) {}

  void add(const std::string& spec) {
    // All gradients are ready at once, so they travel together.
    methods_.push_back(
        {.name = spec,
         .method = make_method(communicator_, tensors_, spec,
                               {.topology = options_.topology,
                                .server = options_.server,
                                .server_contributes = options_.server_contributes,
                                .seed = options_.seed,
                                .segment_elements_max = options_.segment_elements_max,
                                .group_elements = values_.size() + 1}),
         .figures = {},
         .laps = {}});
    const Method& method = *methods_.back().method;
    if (method.traits().settles == MethodTraits::Settles::by_training) {
      throw Error(
          method.spec() +
          " sends what it learns from gradients, and there are none to learn from: see what "
          "a run of `gradwire train` sends");
    }
    methods_.back().figures.topology = method.topology();
  }

  // Round 0 warms up, and finds what is no matter of time.
  void run_round(std::size_t round, console::Progress* progress) {
    if (progress != nullptr) progress->step(kSumName);
    double baseline_ms = run_sum();
    if (round == 0) keep_truth();
    if (round > 0) sums_ms_.push_back(baseline_ms);
    if (gloo_ != nullptr) {
      if (progress != nullptr) progress->step(kGlooName);
      baseline_ms = run_gloo();
      if (round > 0) gloo_ms_.push_back(baseline_ms);
    }
    if (progress != nullptr) progress->step(kScaleName);
    const double scale_ms = run_scaling();
    if (round > 0) scales_ms_.push_back(scale_ms);
    for (Contestant& method : methods_) {
      if (progress != nullptr) progress->step(method.name);
      Lap lap = run_step(method, round);
      lap.ratio = lap.ms / baseline_ms;
      check_same_everywhere(method);
      if (round == 0) find_size_and_error(method, lap);
      if (round > 0) method.laps.push_back(lap);
    }
  }

  AllreduceFigures figures() const {
    AllreduceFigures all;
    all.sum = time_of(sums_ms_);
    if (gloo_ != nullptr) all.gloo = time_of(gloo_ms_);
    all.scale = time_of(scales_ms_);
    for (const Contestant& method : methods_) {
      const auto median_of = [&](auto figure) {
        std::vector<double> numbers;
        for (const Lap& lap : method.laps) numbers.push_back(figure(lap));
        return median(std::move(numbers));
      };
      MethodFigures& figures = all.methods.emplace_back(method.figures);
      figures.ms = median_of([](const Lap& lap) { return lap.ms; });
      figures.ms_min = std::ranges::min_element(method.laps, {}, &Lap::ms)->ms;
      figures.ratio = median_of([](const Lap& lap) { return lap.ratio; });
      figures.encode_ms =
          median_of([](const Lap& lap) { return 1e3 * lap.report.phases.encode_seconds; });
      figures.exchange_ms =
          median_of([](const Lap& lap) { return 1e3 * lap.report.phases.exchange_seconds; });
      figures.decode_ms =
          median_of([](const Lap& lap) { return 1e3 * lap.report.phases.decode_seconds; });
    }
    return all;
  }

 private:
  struct Contestant {
    std::string name;
    std::unique_ptr<Method> method;
    MethodFigures figures;
    std::vector<Lap> laps;
  };

  static AllreduceFigures::Time time_of(const std::vector<double>& ms) {
    return {.ms = median(ms), .ms_min = std::ranges::min(ms)};
  }

  // Whether this rank gives values at all.
  bool contributes() const {
    return options_.server_contributes || communicator_.rank() != options_.server;
  }

  void restore_values() {
    if (contributes()) {
      std::ranges::copy(values_, mean_.span().begin());
    } else {
      std::ranges::fill(mean_.span(), 0.0F);
    }
  }

  double run_sum() {
    restore_values();
    communicator_.barrier();
    return milliseconds([&] { communicator_.allreduce(mean_.span()); });
  }

  double run_gloo() {
    restore_values();
    communicator_.barrier();
    return milliseconds([&] { gloo_->run(mean_.span()); });
  }

  double run_scaling() {
    restore_values();
    communicator_.barrier();
    return milliseconds([&] {
      for (float& value : mean_.span()) value *= 0.5F;
    });
  }

  // The model does not move, and its gradient is always the same.
  Lap run_step(Contestant& contestant, std::uint64_t step) {
    restore_values();
    const StepContext context{
        .step = step,
        .parameters = value_parts_,
        .gradient_at = [this](std::span<const std::span<const float>>, const TakeGradient& take) {
          for (std::size_t i = 0; i < value_parts_.size(); ++i) take(i, value_parts_[i]);
        }};
    Lap lap;
    communicator_.barrier();
    lap.ms = milliseconds([&] { lap.report = contestant.method->run(context, mean_parts_); });
    if (lap.report.poisoned > 0) {
      throw Error(contestant.name + ": there is a NaN or an infinity among the values: no mean");
    }
    return lap;
  }

  // The transport's sum is the truth, divided by the number of ranks that gave something.
  void keep_truth() {
    if (communicator_.rank() != 0) return;
    truth_.emplace(values_.size());
    const std::size_t ranks = communicator_.size() - (options_.server_contributes ? 0 : 1);
    std::ranges::transform(mean_.span(), truth_->span().begin(),
                           [&](float sum) { return sum / static_cast<float>(ranks); });
  }

  void check_same_everywhere(const Contestant& method) {
    const std::vector<std::uint64_t> checksums =
        gather_from_ranks(communicator_, checksum(std::as_bytes(mean_.span())));
    for (std::size_t rank = 1; rank < checksums.size(); ++rank) {
      if (checksums[rank] == checksums[0]) continue;
      throw Error(fmt::format(
          "{}: ranks 0 and {} hold different means; this is a bug of gradwire, or of the machine",
          method.name, rank));
    }
  }

  void find_size_and_error(Contestant& method, const Lap& lap) {
    const std::vector<std::uint64_t> sent =
        gather_from_ranks(communicator_, lap.report.traffic.bytes_sent);
    method.figures.bytes_sent = *std::max_element(sent.begin(), sent.end());
    if (truth_) method.figures.relative_error = relative_error(mean_.span(), truth_->span());
  }

  Communicator& communicator_;
  GlooAllreduce* const gloo_;  // null: it is not measured
  const AllreduceOptions& options_;
  const std::vector<MethodTensor>& tensors_;
  std::span<const float> values_;
  PageArray<float> mean_;                  // or the transport's sum
  std::optional<PageArray<float>> truth_;  // rank 0 only
  std::vector<std::span<const float>> value_parts_;
  std::vector<std::span<float>> mean_parts_;
  std::vector<Contestant> methods_;
  std::vector<double> sums_ms_;
  std::vector<double> gloo_ms_;
  std::vector<double> scales_ms_;
};

}  // namespace

std::size_t allreduce_steps(std::size_t methods, std::size_t rounds, bool has_gloo) {
  return (2 + (has_gloo ? 1 : 0) + methods) * (1 + rounds);
}

AllreduceFigures measure_allreduce(Communicator& communicator, std::span<const float> values,
                                   const std::vector<MethodTensor>& tensors,
                                   const std::vector<std::string>& methods,
                                   const AllreduceOptions& options, GlooAllreduce* gloo,
                                   console::Progress* progress) {
  GW_CHECK(options.rounds > 0);
  AllreduceBench bench(communicator, values, tensors, options, gloo);
  for (const std::string& method : methods) bench.add(method);
  for (std::size_t round = 0; round <= options.rounds; ++round) bench.run_round(round, progress);
  return bench.figures();
}

}  // namespace gradwire::bench
