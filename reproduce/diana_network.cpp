#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "console/format.h"
#include "record/gradient_files.h"
#include "reproduce/diana_parts.h"
#include "reproduce/libsvm_twin.h"
#include "train/gradient_recorder.h"

namespace gradwire::reproduce {
namespace {

using record::Json;

constexpr std::size_t kWorkers = 10;
static_assert(kNetworkRuns == std::size(kRacers));

// |mean of the workers' gradients|^2. Shards are of equal size, and batches are whole shards: that
// is the gradient of f.
double squared_norm(const std::filesystem::path& gradients, std::uint64_t step) {
  const auto tensors = record::read_shapes(gradients / record::kShapesFile);
  std::vector<double> sum;
  for (std::size_t worker = 0; worker < kWorkers; ++worker) {
    const auto path = gradients / fmt::format("step{:04}_worker{}.f32", step, worker);
    const std::vector<float> values = record::read_gradients(path, tensors);
    sum.resize(values.size());
    for (std::size_t j = 0; j < values.size(); ++j) sum[j] += values[j];
  }
  double squared = 0;
  for (const double value : sum) squared += value * value;
  return squared / static_cast<double>(kWorkers * kWorkers);
}

struct Length {
  std::uint64_t steps;
  std::uint64_t every;  // recorded
};

session::TrainOptions network_options(const LibsvmFile& file, const Length& length) {
  session::TrainOptions options;
  options.model = "mlp(hidden=8)";
  options.data = file.path;
  options.split = "label";
  options.workers.workers = kWorkers;
  options.batch = 1'000'000;  // whole shards
  options.steps = length.steps;
  options.network.learning_rate = 0.1;
  options.network.evaluate_every = length.steps;
  options.network.record_gradients = fmt::format("every={}", length.every);
  return options;
}

// Squared norms against bits. What was recorded for them is then removed.
Curve norms_of(Workbench& bench, const Racer& racer, const LibsvmFile& file, const Length& length) {
  const std::string name = fmt::format("network-{}-{}", file.name, racer.name);
  const session::FinishedRun run = bench.train(name, network_options(file, length), racer.method);
  const auto directory = run.directory / train::kGradientFiles;
  const Json found = bench.trial(name, [&] {
    Json norms = Json::array();
    for (std::uint64_t step = 0; step < length.steps; step += length.every) {
      norms.push_back(squared_norm(directory, step));
    }
    return norms;
  });
  std::error_code ignored;
  std::filesystem::remove_all(directory, ignored);
  const double bits = payload_bits(racer.codec, run.record.parameters);
  Curve curve{.label = racer.name, .x = {}, .y = found};
  for (std::size_t i = 0; i < curve.y.size(); ++i) {
    curve.x.push_back(bits * static_cast<double>(i * length.every));
  }
  return curve;
}

// The mean over the last fifth.
double late_mean(const Curve& curve) {
  const std::size_t from = curve.y.size() * 4 / 5;
  double sum = 0;
  for (std::size_t i = from; i < curve.y.size(); ++i) sum += curve.y[i];
  return sum / static_cast<double>(curve.y.size() - from);
}

}  // namespace

void add_network(Workbench& bench, Claim& claim) {
  const Length length =
      bench.is_quick() ? Length{.steps = 1000, .every = 20} : Length{.steps = 5000, .every = 50};
  const LibsvmFile file = find_libsvm(bench, kA5a);
  Picture picture{.name = "diana-network",
                  .title = fmt::format("A network of 8 hidden units on {}, 10 workers", file.name),
                  .x_label = "bits for each coordinate that a worker sent (payload)",
                  .y_label = "|grad f|^2",
                  .log_y = true,
                  .curves = {}};
  for (const Racer& racer : kRacers) picture.curves.push_back(norms_of(bench, racer, file, length));
  const double diana = late_mean(picture.curves.front());
  double nearest = std::numeric_limits<double>::infinity();
  std::string others;
  for (std::size_t i = 1; i < picture.curves.size(); ++i) {
    const double norm = late_mean(picture.curves[i]);
    nearest = std::min(nearest, norm);
    others += fmt::format(", {} {}", picture.curves[i].label, console::significant(norm, 2));
  }
  claim.rows.push_back(
      {.what = "not convex (a network): |grad f|^2, the mean over the last fifth of the steps",
       .published = "DIANA comes to a stationary point; without shifts the noise stays",
       .measured = fmt::format("DIANA {}{}", console::significant(diana, 2), others),
       .holds = diana < nearest,
       .reason =
           "The verdict is that DIANA's is the smallest; in so many steps none comes to zero."});
  claim.pictures.push_back(std::move(picture));
}

}  // namespace gradwire::reproduce
