// What the trainer costs beside the network itself: steps of one worker with `none`, against the
// very same network in a bare loop on the same batches, in the same run; and, beside both, the same
// layers as somebody would write them with libtorch.
//   overhead_bench [STEPS [ROUNDS]]
#include <torch/torch.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "data/sampler.h"
#include "gradwire/transport/in_process.h"
#include "train/model.h"
#include "train/training.h"

namespace gradwire::train {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kBatch = 64;
constexpr std::uint64_t kWarmup = 20;  // steps that are not counted

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
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

double plain_step_seconds(const Lesson& lesson, std::uint64_t steps) {
  PlainCnn model;
  torch::optim::SGD optimiser(model.parameters(), torch::optim::SGDOptions(0.05));
  data::Sampler sampler(lesson.shards, kBatch, 1, 0);
  data::Batch batch;
  auto start = Clock::now();
  for (std::uint64_t step = 0; step < kWarmup + steps; ++step) {
    if (step == kWarmup) start = Clock::now();
    lesson.source->fill_train(sampler.at(step), {}, batch);
    const auto samples = static_cast<std::int64_t>(batch.samples);
    const auto input = torch::from_blob(batch.values.data(), {samples, 1, 28, 28});
    const auto targets = torch::from_blob(batch.targets.data(), {samples}, torch::kLong);
    optimiser.zero_grad();
    const auto loss = torch::cross_entropy_loss(model.forward(input), targets);
    loss.backward();
    optimiser.step();
  }
  return seconds_since(start) / static_cast<double>(steps);
}

// The trainer's own network, and nothing around it but SGD.
double bare_step_seconds(const Lesson& lesson, std::uint64_t steps) {
  const auto model = make_model(lesson.options.model, lesson.source->shape(), 1);
  data::Sampler sampler(lesson.shards, kBatch, 1, 0);
  data::Batch batch;
  auto start = Clock::now();
  for (std::uint64_t step = 0; step < kWarmup + steps; ++step) {
    if (step == kWarmup) start = Clock::now();
    lesson.source->fill_train(sampler.at(step), {}, batch);
    std::ranges::fill(model->gradients(), 0.0F);
    model->learn(batch, {}, 1, {});
    const std::span<const float> gradients = model->gradients();
    const std::span<float> values = model->values();
    for (std::size_t i = 0; i < values.size(); ++i) values[i] -= 0.05F * gradients[i];
  }
  return seconds_since(start) / static_cast<double>(steps);
}

// Without its beginning and its end: of two runs, one twice as long, the difference.
double trainer_step_seconds(const Lesson& lesson, std::uint64_t steps,
                            const std::filesystem::path& directory) {
  const auto seconds = [&](std::uint64_t count) {
    InProcessWorld world(1);
    Communicator communicator(world.join(0), {});
    const auto start = Clock::now();
    train(communicator, lesson, {.method = "none", .steps = count, .directory = directory});
    const double taken = seconds_since(start);
    communicator.close();
    return taken;
  };
  return (seconds(2 * steps) - seconds(steps)) / static_cast<double>(steps);
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

void run(std::uint64_t steps, std::size_t rounds) {
  const Lesson lesson(data::open_source("fashion-mnist", {}), {.model = "cnn", .batch = kBatch});
  const auto directory = std::filesystem::temp_directory_path() / "gradwire-overhead";
  std::filesystem::create_directories(directory);
  set_operation_threads(1);
  std::vector<double> plain, bare, trainer, ratios;
  for (std::size_t round = 0; round < rounds; ++round) {
    plain.push_back(plain_step_seconds(lesson, steps));
    trainer.push_back(trainer_step_seconds(lesson, steps, directory));
    bare.push_back(bare_step_seconds(lesson, steps));
    ratios.push_back(trainer.back() / bare.back());
  }
  std::filesystem::remove_all(directory);
  std::printf("cnn, batches of %zu, one thread, medians of %zu rounds of %zu steps\n", kBatch,
              rounds, static_cast<std::size_t>(steps));
  std::printf("its network in a bare loop %.2f ms, trainer %.2f ms, ratio %.3f\n",
              1e3 * median(bare), 1e3 * median(trainer), median(ratios));
  std::printf("the same layers by plain libtorch %.2f ms\n", 1e3 * median(plain));
}

}  // namespace
}  // namespace gradwire::train

int main(int argc, char** argv) {
  const std::uint64_t steps = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 200;
  const std::size_t rounds = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 7;
  gradwire::train::run(steps, rounds);
}
