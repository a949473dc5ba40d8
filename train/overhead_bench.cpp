// What the trainer costs beside the network itself: steps of one worker with `none`, against the
// very same network in a bare loop on batches of the same data, and, beside both, the same layers
// as somebody would write them with libtorch. All take turns, some steps each, so that what changes
// on the machine changes for all.
//   overhead_bench [STEPS]
#include <torch/torch.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <utility>
#include <vector>

#include "data/sampler.h"
#include "gradwire/transport/in_process.h"
#include "train/model.h"
#include "train/training.h"

namespace gradwire::train {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kBatch = 64;
constexpr std::uint64_t kLapSteps = 20;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  return values[values.size() / 2];
}

// The trainer's cnn as somebody would write it with libtorch. Channels last, as the trainer has it.
struct PlainCnn : torch::nn::Module {
  PlainCnn() {
    conv1 =
        register_module("conv1", torch::nn::Conv2d(torch::nn::Conv2dOptions(1, 16, 3).padding(1)));
    conv2 =
        register_module("conv2", torch::nn::Conv2d(torch::nn::Conv2dOptions(16, 32, 3).padding(1)));
    fc1 = register_module("fc1", torch::nn::Linear(32 * 7 * 7, 256));
    fc2 = register_module("fc2", torch::nn::Linear(256, 10));
  }
  torch::Tensor forward(torch::Tensor x) {
    x = torch::relu(torch::max_pool2d(conv1(x.contiguous(at::MemoryFormat::ChannelsLast)), 2));
    x = torch::relu(torch::max_pool2d(conv2(x), 2));
    return fc2(torch::relu(fc1(x.flatten(1))));
  }
  torch::nn::Conv2d conv1{nullptr}, conv2{nullptr};
  torch::nn::Linear fc1{nullptr}, fc2{nullptr};
};

// Batches and nothing else around what learns from them.
class BareLoop {
 public:
  using Learn = std::function<void(data::Batch& batch)>;
  BareLoop(const Task& task, Learn learn)
      : task_(task), sampler_(task.shards, kBatch, 1, 0), learn_(std::move(learn)) {}

  // Seconds a step.
  double lap() {
    const auto start = Clock::now();
    for (std::uint64_t i = 0; i < kLapSteps; ++i) {
      task_.source->fill_train(sampler_.at(step_++), {}, batch_);
      learn_(batch_);
    }
    return seconds_since(start) / kLapSteps;
  }

 private:
  const Task& task_;
  data::Sampler sampler_;
  data::Batch batch_;
  Learn learn_;
  std::uint64_t step_ = 0;
};

void learn_plain(PlainCnn& model, torch::optim::SGD& optimiser, data::Batch& batch) {
  const auto samples = static_cast<std::int64_t>(batch.samples);
  const auto input = torch::from_blob(batch.values.data(), {samples, 1, 28, 28});
  const auto targets = torch::from_blob(batch.targets.data(), {samples}, torch::kLong);
  optimiser.zero_grad();
  const auto loss = torch::cross_entropy_loss(model.forward(input), targets);
  loss.backward();
  optimiser.step();
}

// The trainer's own network, and nothing around it but SGD.
void learn_bare(Model& model, const data::Batch& batch) {
  std::ranges::fill(model.gradients(), 0.0F);
  model.learn(batch, {}, 1, {});
  const std::span<const float> gradients = model.gradients();
  const std::span<float> values = model.values();
  for (std::size_t i = 0; i < values.size(); ++i) values[i] -= 0.05F * gradients[i];
}

void run(std::uint64_t steps) {
  const Task task(data::open_source("fashion-mnist", {}), {.model = "cnn", .batch = kBatch});
  const auto directory = std::filesystem::temp_directory_path() / "gradwire-overhead";
  std::filesystem::create_directories(directory);
  set_operation_threads(1);

  const auto model = make_model(task.options.model, task.source->shape(), 1);
  BareLoop bare(task, [&](data::Batch& batch) { learn_bare(*model, batch); });
  PlainCnn plain_model;
  torch::optim::SGD optimiser(plain_model.parameters(), torch::optim::SGDOptions(0.05));
  BareLoop plain(task, [&](data::Batch& batch) { learn_plain(plain_model, optimiser, batch); });

  // The trainer's laps lie between its reports, and the others' laps are in them. The first of each
  // warms up; the last report, which an evaluation came before, is left out.
  std::vector<double> trainer_laps, bare_laps, plain_laps, ratios;
  Clock::time_point lap_start;
  std::uint64_t lap_step = 0;
  const auto on_report = [&](const session::Report& report) {
    const double trainer_lap =
        seconds_since(lap_start) / static_cast<double>(report.step - lap_step);
    const double bare_lap = bare.lap();
    const double plain_lap = plain.lap();
    if (lap_step >= kLapSteps && report.step < steps) {
      trainer_laps.push_back(trainer_lap);
      bare_laps.push_back(bare_lap);
      plain_laps.push_back(plain_lap);
      ratios.push_back(trainer_lap / bare_lap);
    }
    lap_step = report.step;
    lap_start = Clock::now();
  };
  InProcessWorld world(1);
  Communicator communicator(world.join(0), {});
  train(
      communicator, task,
      {.method = "none", .run = {.steps = steps, .directory = directory, .on_report = on_report}});
  communicator.close();
  std::filesystem::remove_all(directory);

  std::printf("cnn, batches of %zu, one thread, medians of %zu laps\n", kBatch, ratios.size());
  std::printf("its network in a bare loop %.2f ms a step, trainer %.2f ms, ratio %.3f\n",
              1e3 * median(bare_laps), 1e3 * median(trainer_laps), median(ratios));
  std::printf("the same layers by plain libtorch %.2f ms\n", 1e3 * median(plain_laps));
}

}  // namespace
}  // namespace gradwire::train

int main(int argc, char** argv) {
  gradwire::train::run(argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1000);
}
