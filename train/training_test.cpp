// Training of small networks in threads, on generated images and text.
#include "train/training.h"

#include <atomic>
#include <cmath>
#include <numeric>
#include <set>

#include "data/source.h"
#include "gradwire/collective/test_support.h"
#include "gradwire/core/error.h"
#include "gradwire/core/usage_error.h"
#include "gradwire/file/tensor_file.h"
#include "gradwire/file/test_directory.h"
#include "gtest/gtest.h"
#include "record/checkpoint_directory.h"
#include "record/gradient_files.h"
#include "train/model_files.h"

namespace gradwire::train {
namespace {

std::shared_ptr<const data::Source> images() {
  static const std::shared_ptr<const data::Source> source = data::open_source("generated", {});
  return source;
}

struct Trial {
  TaskOptions task = {.model = "mlp(hidden=16)", .ranks = 4, .batch = 16};
  TrainingOptions training = {.method = "none", .run = {.steps = 12, .checkpoint_every = 4}};
  std::uint64_t stop_after = 0;  // steps; 0: never
};

// Rank 0's result.
TrainingResult run(Trial trial, const std::filesystem::path& directory) {
  const Task task(images(), trial.task);
  trial.training.run.directory = directory;
  TrainingResult first;
  std::atomic<std::uint64_t> meetings = 0;
  trial.training.run.wants_stop = [&] {
    return trial.stop_after > 0 && ++meetings > trial.stop_after;
  };
  run_communicators(trial.task.ranks, [&](Communicator& communicator) {
    TrainingResult own = train(communicator, task, trial.training);
    if (communicator.rank() == 0) first = std::move(own);
  });
  return first;
}

TrainingResult run(const Trial& trial) {
  const TestDirectory directory;
  return run(trial, directory / ".");
}

Trial with_method(const char* method) {
  Trial trial;
  trial.training.method = method;
  return trial;
}

TEST(TrainingThreads, ANetworkLearns) {
  Trial trial = with_method("natural");
  trial.training.run.steps = 200;
  const TrainingResult result = run(trial);
  EXPECT_GT(*result.final.accuracy, 0.3);  // by chance 0.1
  EXPECT_LT(*result.steps.back().metrics.loss, *result.steps.front().metrics.loss);
  EXPECT_EQ(result.steps.size(), 200u);
}

TEST(TrainingThreads, TheModelIsAFunctionOfTheSeed) {
  Trial trial;
  const std::string hash = run(trial).model_hash;
  EXPECT_EQ(run(trial).model_hash, hash);
  trial.task.seed = 2;
  EXPECT_NE(run(trial).model_hash, hash);
}

// The shares follow clocks, so how they are is not tested here: see data/balance_test.cpp.
TEST(TrainingThreads, BalancedWorkersShareTheBatchAndRecordIt) {
  Trial trial = with_method("ef(topk(10%))");
  trial.task.balance = true;
  trial.training.run.steps = 30;
  const TestDirectory directory;
  trial.stop_after = 1;
  const TrainingResult first = run(trial, directory / ".");
  ASSERT_LT(first.steps_done, 30u);
  ASSERT_TRUE(first.steps.front().shares.has_value());
  EXPECT_EQ(*first.steps.front().shares, (std::vector<std::uint32_t>{16, 16, 16, 16}));

  trial.stop_after = 0;
  trial.training.run.resume = true;
  const TrainingResult second = run(trial, directory / ".");
  EXPECT_EQ(second.resumed_from, first.steps_done);
  EXPECT_EQ(second.steps.size(), 30u);
  for (const record::StepRecord& step : second.steps) {
    if (!step.shares) continue;
    EXPECT_EQ(std::accumulate(step.shares->begin(), step.shares->end(), 0u), 64u);
  }
}

TEST(TrainingThreads, WhatCannotBeBalancedIsRefused) {
  for (const char* method : {"sasg(topk(1%))", "local_sgd"}) {
    Trial trial = with_method(method);
    trial.task.balance = true;
    EXPECT_THROW(run(trial), Error) << method;
  }
  TaskOptions split{.model = "mlp(hidden=16)", .ranks = 4, .batch = 16, .balance = true};
  split.split = data::parse_split("label");
  EXPECT_THROW(Task(images(), split), Error);
}

// What is remembered by methods, optimisers and layers is in the checkpoint.
TEST(TrainingThreads, ARunThatGoesOnEndsWithTheBytesOfOneThatNeverStopped) {
  struct Case {
    const char* model;
    const char* method;
    const char* optimiser;
  };
  for (const Case& each :
       {Case{"mlp(hidden=16)", "none", "sgd(momentum=0.9, nesterov=on)"},
        Case{"mlp(hidden=16)", "ef(topk(1%) | natural)", "sgd"},
        Case{"mlp(hidden=16)", "diana(natural)", "adam"},
        Case{"mlp(hidden=16, dropout=0.5)", "sasg(topk(5%), window=2, delay=3)", "sgd(decay=0.01)"},
        Case{"mlp(hidden=16)", "powersgd(rank=2)", "adamw"},
        Case{"mlp(hidden=16)", "adam(sign, warmup=3)", "adamw(beta2=0.95)"},
        Case{"mlp(hidden=16)", "local(topk(5%, chunk=64) | twobit, every=4)", "adamw"},
        Case{"mlp(hidden=16)", "local(none, every=5, after=3, outer=nesterov(0.7, 0.9))", "adamw"},
        Case{"mlp(hidden=16)", "local(sign, every=4, fragments=2, delay=3)", "sgd(momentum=0.9)"},
        Case{"resnet18(width=4)", "local(natural, every=3)", "sgd(momentum=0.9)"},
        Case{"resnet18(width=4)", "natural", "sgd(momentum=0.9)"}}) {
    Trial trial = with_method(each.method);
    trial.task.model = each.model;
    trial.task.optimiser = parse_optimiser(each.optimiser);
    if (std::string(each.model).starts_with("resnet")) {
      trial.task.batch = 4;
      trial.training.run.steps = 4;
      trial.training.run.checkpoint_every = 2;
    }
    const TrainingResult whole = run(trial);

    const TestDirectory directory;
    Trial interrupted = trial;
    interrupted.stop_after = 6;
    const TrainingResult part = run(interrupted, directory / ".");
    EXPECT_LT(part.steps_done, trial.training.run.steps) << each.method;
    trial.training.run.resume = true;
    const TrainingResult rest = run(trial, directory / ".");
    EXPECT_EQ(rest.resumed_from, part.steps_done) << each.method;
    EXPECT_EQ(rest.model_hash, whole.model_hash) << each.method;
    EXPECT_EQ(rest.final, whole.final) << each.method;
    ASSERT_EQ(rest.steps.size(), whole.steps.size());
    for (std::size_t i = 0; i < rest.steps.size(); ++i) {
      EXPECT_EQ(rest.steps[i].metrics.loss, whole.steps[i].metrics.loss) << i;
      EXPECT_EQ(rest.steps[i].uploads, whole.steps[i].uploads) << i;
    }
  }
}

TEST(TrainingThreads, TheLastCheckpointsAndTheBestOneAreKept) {
  const TestDirectory directory;
  Trial trial;
  trial.training.run.steps = 20;
  trial.training.run.checkpoint_every = 2;
  trial.training.evaluate_every = 2;
  const TrainingResult result = run(trial, directory / ".");
  std::uint64_t best = 0;
  double accuracy = -1;
  for (const record::StepRecord& step : result.steps) {
    if (!step.metrics.accuracy || *step.metrics.accuracy <= accuracy) continue;
    accuracy = *step.metrics.accuracy;
    best = step.step;
  }
  std::set<std::uint64_t> found;
  for (const auto& each : record::whole_checkpoints(directory / record::kCheckpoints)) {
    found.insert(each.step);
  }
  EXPECT_EQ(found, (std::set<std::uint64_t>{best, 18, 20}));
}

TEST(TrainingThreads, AccumulatedBatchesAreOneLargeBatch) {
  Trial trial;
  trial.task.batch = 32;
  const TrainingResult whole = run(trial);
  trial.task.batch = 8;
  trial.task.accumulate = 4;
  const TrainingResult parts = run(trial);
  for (std::size_t i = 0; i < whole.steps.size(); ++i) {
    EXPECT_NEAR(*parts.steps[i].metrics.loss, *whole.steps[i].metrics.loss, 1e-4) << i;
  }
}

TEST(TrainingThreads, UnevenShardsGiveEqualStepsAndAWeightedMean) {
  Trial trial;
  trial.task.split = data::parse_split("dirichlet(0.05)");
  trial.training.run.steps = 60;
  const TrainingResult uneven = run(trial);
  EXPECT_EQ(uneven.steps.size(), 60u);
  trial.task.split = data::parse_split("iid");
  EXPECT_NEAR(*uneven.final.test_loss, *run(trial).final.test_loss, 0.3);
}

TEST(TrainingThreads, ADedicatedServerOnlyAverages) {
  Trial trial = with_method("natural");
  trial.task.dedicated_server = 1;
  trial.training.exchange = {
      .topology = Topology::server, .server = 1, .server_contributes = false};
  const TrainingResult result = run(trial);
  EXPECT_EQ(result.steps_done, 12u);
  EXPECT_TRUE(std::isfinite(*result.final.test_loss));
}

TEST(TrainingThreads, RunningStatisticsAreAveragedAndTheirBytesCounted) {
  Trial trial;
  trial.task.model = "resnet18(width=4)";
  trial.task.batch = 2;
  trial.training.run.steps = 2;
  trial.training.run.checkpoint_every = 0;
  const TrainingResult result = run(trial);
  EXPECT_GT(result.steps[1].traffic.bytes_sent,
            result.steps[0].traffic.bytes_sent);  // only the last is evaluated
}

// Exact means in all steps, and the same settings. Only the rounding of the subtraction differs.
TEST(TrainingThreads, AdamAsAMethodIsAdamwAsAnOptimiser) {
  const auto losses = [](const char* method) {
    Trial trial = with_method(method);
    trial.task.optimiser = parse_optimiser("adamw(beta1=0.8, beta2=0.95, decay=0.1)");
    trial.task.learning_rate = 0.002;
    std::vector<double> all;
    for (const auto& step : run(trial).steps) all.push_back(step.metrics.loss.value());
    return all;
  };
  const auto plain = losses("none"), ours = losses("adam(sign, dense=none)");
  ASSERT_EQ(plain.size(), ours.size());
  for (std::size_t i = 0; i < plain.size(); ++i) EXPECT_NEAR(plain[i], ours[i], 1e-4) << i;
}

// An exchange after each step of plain SGD is synchronous SGD. Only rounding differs.
TEST(TrainingThreads, LocalStepsOfOneAreSynchronous) {
  const auto losses = [](const char* method) {
    std::vector<double> all;
    for (const auto& step : run(with_method(method)).steps) {
      all.push_back(step.metrics.loss.value());
    }
    return all;
  };
  const auto plain = losses("none"), ours = losses("local(none, every=1)");
  ASSERT_EQ(plain.size(), ours.size());
  for (std::size_t i = 0; i < plain.size(); ++i) EXPECT_NEAR(plain[i], ours[i], 1e-4) << i;
}

TEST(TrainingThreads, LocalStepsLearnAndAreEvaluatedAtTheEndOfRounds) {
  Trial trial = with_method("local(topk(10%, chunk=256) | twobit, every=5, after=3)");
  trial.task.optimiser = parse_optimiser("adamw");
  trial.task.learning_rate = 0.002;
  trial.training.run.steps = 202;
  trial.training.evaluate_every = 50;
  const TrainingResult result = run(trial);
  EXPECT_GT(*result.final.accuracy, 0.3);  // by chance 0.1
  std::set<std::uint64_t> evaluated;
  std::size_t with_exchange = 0;
  for (const record::StepRecord& step : result.steps) {
    if (step.metrics.test_loss) evaluated.insert(step.step);
    with_exchange += step.traffic.message_bytes > 0 ? 1 : 0;
  }
  // Rounds end after steps 8, 13, and so on.
  EXPECT_EQ(evaluated, (std::set<std::uint64_t>{53, 103, 153, 202}));
  EXPECT_EQ(with_exchange, 3u + 40u);
}

TEST(TrainingThreads, LocalStepsTakeADedicatedServerAndUnevenShards) {
  Trial trial = with_method("local(natural, every=4)");
  trial.task.dedicated_server = 1;
  trial.task.optimiser = parse_optimiser("adamw");
  trial.task.split = data::parse_split("dirichlet(0.1)");
  trial.training.exchange = {
      .topology = Topology::server, .server = 1, .server_contributes = false};
  EXPECT_TRUE(std::isfinite(*run(trial).final.test_loss));
}

TEST(Training, AnAwayRankLeavesOutItsSteps) {
  const auto taken = [](const AwayRank& away, std::size_t rank) {
    std::string steps;
    for (std::uint64_t step = 0; step < 12; ++step)
      steps += away.is_away(rank, step, 3) ? '-' : 'x';
    return steps;
  };
  EXPECT_EQ(taken({.rank = 1, .period = 4}, 1), "---x---x---x");
  EXPECT_EQ(taken({.rank = 1, .period = 4}, 0), "xxxxxxxxxxxx");
  EXPECT_EQ(taken({.rank = {}, .period = 2}, 0), "--xxxx--xxxx");
  EXPECT_EQ(taken({.rank = {}, .period = 2}, 2), "xxxx--xxxx--");
}

// Ranks compare their common model at every evaluation.
TEST(TrainingThreads, LocalStepsGoOnWithoutAWorker) {
  for (const AwayRank& away :
       {AwayRank{.rank = {}, .period = 5}, AwayRank{.rank = 2, .period = 4}}) {
    Trial trial = with_method("local(topk(10%, chunk=256) | twobit, every=5)");
    trial.task.optimiser = parse_optimiser("adamw");
    trial.task.learning_rate = 0.002;
    trial.task.away = away;
    trial.training.run.steps = 200;
    trial.training.evaluate_every = 50;
    EXPECT_GT(*run(trial).final.accuracy, 0.3);  // by chance 0.1
  }
}

TEST(TrainingThreads, AWorkerIsAwayFromStepsOfItsOwnOnly) {
  Trial trial = with_method("natural");
  trial.task.away = AwayRank{.rank = 1, .period = 4};
  EXPECT_THROW(run(trial), UsageError);
}

TEST(TrainingThreads, WhatTraitsForbidIsRefused) {
  Trial trial = with_method("sasg(topk(1%))");
  trial.task.optimiser = parse_optimiser("sgd(momentum=0.9)");
  EXPECT_THROW(run(trial), Error);
  trial = with_method("dgc(1%)");
  trial.task.optimiser = parse_optimiser("sgd(momentum=0.9)");
  EXPECT_THROW(run(trial), Error);
}

TEST(TrainingThreads, OtherOptionsDoNotGoOn) {
  const TestDirectory directory;
  Trial trial;
  trial.training.run.configuration = {{"batch", 16}};
  run(trial, directory / ".");
  trial.training.run.resume = true;
  trial.training.run.configuration = {{"batch", 32}};
  EXPECT_THROW(run(trial, directory / "."), Error);
}

std::vector<float> recorded(const std::filesystem::path& directory, const std::string& name) {
  const auto tensors = record::read_shapes(directory / kGradientFiles / record::kShapesFile);
  return record::read_gradients(directory / kGradientFiles / (name + ".f32"), tensors);
}

std::set<std::string> names_in(const std::filesystem::path& directory) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    names.insert(entry.path().filename());
  }
  return names;
}

TEST(TrainingThreads, RecordedGradientsAreThoseThatMoveTheModel) {
  const TestDirectory directory;
  Trial trial;
  trial.training.run.steps = 1;
  trial.training.record_gradients = {.steps = {0}};
  run(trial, directory / ".");
  std::vector<double> mean;
  for (int worker = 0; worker < 4; ++worker) {
    const auto own = recorded(directory / ".", "step0000_worker" + std::to_string(worker));
    mean.resize(own.size());
    for (std::size_t i = 0; i < own.size(); ++i) mean[i] += double{own[i]} / 4;
  }
  const auto before = make_model(trial.task.model, images()->shape(), trial.task.seed);
  for (const Parameter& parameter : before->parameters()) {
    const auto after =
        read_tensor(directory / (std::string(kModelFiles) + "/" + parameter.name + ".npy"));
    for (std::size_t i = 0; i < parameter.elements; ++i) {
      const std::size_t at = parameter.first + i;
      EXPECT_NEAR(after.values[i], before->values()[at] - 0.05 * mean[at], 1e-6);
    }
  }
}

// A method that changes gradients in their place, and one that asks for gradients elsewhere.
TEST(TrainingThreads, RecordingGradientsChangesNothing) {
  for (const char* method : {"ef(topk(1%) | natural)", "sasg(topk(5%), window=2, delay=3)"}) {
    const TestDirectory directory;
    Trial trial = with_method(method);
    const std::string hash = run(trial).model_hash;
    trial.training.record_gradients = {.every = 5};
    EXPECT_EQ(run(trial, directory / ".").model_hash, hash) << method;
    EXPECT_EQ(names_in(directory / kGradientFiles).size(), 3 * 4 + 1u) << method;
    EXPECT_NE(recorded(directory / ".", "step0010_worker0"),
              recorded(directory / ".", "step0010_worker1"));
  }
}

TEST(TrainingThreads, ARunThatGoesOnRecordsTheSameGradients) {
  const TestDirectory whole, parts;
  Trial trial = with_method("ef(topk(1%))");
  trial.training.record_gradients = {.steps = {0, 3, 11}};
  run(trial, whole / ".");
  Trial interrupted = trial;
  interrupted.stop_after = 6;
  EXPECT_LT(run(interrupted, parts / ".").steps_done, 11u);
  trial.training.run.resume = true;
  run(trial, parts / ".");
  EXPECT_EQ(names_in(parts / kGradientFiles), names_in(whole / kGradientFiles));
  for (const char* name : {"step0000_worker1", "step0003_worker3", "step0011_worker0"}) {
    EXPECT_EQ(recorded(parts / ".", name), recorded(whole / ".", name)) << name;
  }
}

TEST(TrainingThreads, GradientsOfStepsThatAreOverCannotBeRecorded) {
  const TestDirectory directory;
  Trial trial;
  run(trial, directory / ".");
  trial.training.run.resume = true;
  trial.training.run.steps = 14;
  trial.training.record_gradients = {.steps = {13}};
  run(trial, directory / ".");
  trial.training.record_gradients = {.steps = {1}};
  EXPECT_THROW(run(trial, directory / "."), Error);
}

TEST(TrainingThreads, AServerWithoutSamplesHasNoGradientToRecord) {
  const TestDirectory directory;
  Trial trial;
  trial.task.dedicated_server = 0;
  trial.training.run.steps = 1;
  trial.training.exchange = {
      .topology = Topology::server, .server = 0, .server_contributes = false};
  trial.training.record_gradients = {.steps = {0}};
  run(trial, directory / ".");
  EXPECT_EQ(names_in(directory / kGradientFiles),
            (std::set<std::string>{"shapes.json", "step0000_worker0.f32", "step0000_worker1.f32",
                                   "step0000_worker2.f32"}));
}

TEST(TrainingThreads, TheModelIsLeftForOtherPrograms) {
  const TestDirectory directory;
  run(Trial{}, directory / ".");
  EXPECT_TRUE(std::filesystem::exists(directory / "model"));
  EXPECT_FALSE(std::filesystem::is_empty(directory / "model"));
}

}  // namespace
}  // namespace gradwire::train
