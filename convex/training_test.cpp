// Training in threads, on small generated problems.
#include "convex/training.h"

#include <algorithm>
#include <cmath>

#include "convex/generated.h"
#include "convex/optimum.h"
#include "data/libsvm.h"
#include "gradwire/collective/test_support.h"
#include "gradwire/file/test_directory.h"
#include "gtest/gtest.h"

namespace gradwire::convex {
namespace {

struct Trial {
  ExperimentOptions experiment = {.l2 = {.number = 20, .divides_smoothness = true},
                                  .split = {data::Split::Kind::label},
                                  .ranks = 4};
  TrainingOptions training = {.method = "diana(natural)", .run = {.steps = 400}};
  GeneratedOptions data = {.rows = 200, .features = 20};
};

// Rank 0's result. The optimum is that of the experiment.
TrainingResult run(Trial trial, const std::filesystem::path& directory) {
  const Experiment experiment(trial.experiment.loss == Loss::logistic
                                  ? generate_classes(trial.data)
                                  : generate_numbers(trial.data),
                              trial.experiment);
  trial.training.run.directory = directory;
  trial.training.step_facts = experiment.step_facts();
  trial.training.find_optimum = [&] { return find_optimum(experiment.objective()).value; };
  TrainingResult first;
  run_communicators(trial.experiment.ranks, [&](Communicator& communicator) {
    TrainingResult own = train(communicator, experiment, trial.training);
    if (communicator.rank() == 0) first = std::move(own);
  });
  return first;
}

TrainingResult run(const Trial& trial) {
  const TestDirectory directory;
  return run(trial, directory / ".");
}

TEST(TrainingThreads, DianaComesToTheOptimumWithEveryRegulariser) {
  for (const char* spec : {"none", "l1(0.01)", "l2(0.01)", "elastic(l1=0.01, l2=0.01)",
                           "box(low=-0.0625, high=0.125)"}) {
    for (const Loss loss : {Loss::logistic, Loss::least_squares}) {
      Trial trial;
      trial.experiment.loss = loss;
      trial.experiment.regulariser = parse_regulariser(spec);
      const TrainingResult result = run(trial);
      EXPECT_LT(std::abs(*result.final.gap), 1e-10) << name(loss) << " " << spec;
    }
  }
}

TEST(TrainingThreads, MethodsDifferInWhereTheyEnd) {
  const auto gap = [](const char* method) {
    Trial trial;
    trial.training.method = method;
    trial.training.run.steps = 1500;
    return *run(trial).final.gap;
  };
  EXPECT_LT(gap("none"), 1e-11);
  EXPECT_LT(gap("ef21(topk(50%))"), 1e-9);
  EXPECT_LT(gap("diana(qsgd(bits=2, norm=l2))"), 1e-9);
  EXPECT_GT(gap("direct(qsgd(bits=2, norm=l2), down=none)"), 1e-7);  // no shifts: it stalls
}

// What a prox does to the model counts as movement, and what it takes back does not.
TEST(TrainingThreads, LazyMethodsComeToTheOptimumBehindAProx) {
  for (const char* regulariser : {"l1(0.02)", "box(low=-0.1, high=0.1)"}) {
    Trial trial;
    trial.training.method = "lasg(none)";
    trial.training.run.steps = 3000;
    trial.experiment.regulariser = parse_regulariser(regulariser);
    const TrainingResult result = run(trial);
    EXPECT_LT(*result.final.gap, 1e-9) << regulariser;
    EXPECT_GT(result.steps.back().uploads_skipped + result.steps[1000].uploads_skipped, 0u);
  }
}

TEST(TrainingThreads, UnevenAndEmptyShardsComeToTheSameOptimum) {
  Trial trial;
  trial.experiment.split = data::parse_split("dirichlet(0.05)");
  trial.experiment.ranks = 6;
  trial.training.method = "none";
  trial.training.run.steps = 2000;
  EXPECT_LT(*run(trial).final.gap, 1e-10);
}

TEST(TrainingThreads, ServerWithoutRowsOnlyAverages) {
  Trial trial;
  trial.experiment.dedicated_server = 1;
  trial.training.exchange = {
      .topology = Topology::server, .server = 1, .server_contributes = false};
  EXPECT_LT(*run(trial).final.gap, 1e-9);
}

TEST(TrainingThreads, BatchesComeNear) {
  Trial trial;
  trial.training.batch = 8;
  trial.training.step_rule = parse_step_rule("0.05/L");
  const TrainingResult result = run(trial);
  EXPECT_LT(*result.final.gap, *result.start.gap / 5);
  EXPECT_GT(*result.final.gap, 1e-9);  // the noise of the batches stays
}

TEST(TrainingThreads, ShorterAndShorterStepsComeNearerWithBatches) {
  Trial trial;
  trial.training.batch = 8;
  trial.training.run.steps = 3000;
  trial.training.method = "diana(natural)";
  trial.training.step_rule = parse_step_rule("0.3/L");
  const double equal = *run(trial).final.gap;
  trial.training.step_rule = parse_step_rule("0.3/L/(1+t/100)");
  EXPECT_LT(*run(trial).final.gap, equal / 3);
}

TEST(TrainingThreads, SameSeedGivesTheSameModel) {
  Trial trial;
  trial.training.run.steps = 20;
  trial.training.batch = 4;
  const std::string hash = run(trial).model_hash;
  EXPECT_EQ(run(trial).model_hash, hash);
  trial.training.exchange.seed = 2;
  EXPECT_NE(run(trial).model_hash, hash);
}

TEST(TrainingThreads, StepsAreWrittenDownAsTheyWere) {
  const TestDirectory directory;
  Trial trial;
  trial.training.run.steps = 50;
  trial.training.method = "sasg(topk(50%))";
  const TrainingResult result = run(trial, directory / ".");
  const auto steps = record::read_steps(directory / record::kStepsFile);
  ASSERT_EQ(steps.size(), 50u);
  EXPECT_EQ(steps.size(), result.steps.size());
  std::size_t looked_at = 0;
  for (const record::StepRecord& step : steps) {
    EXPECT_EQ(step.uploads + step.uploads_skipped, 4u);
    EXPECT_GT(step.traffic.bytes_sent, 0u);
    EXPECT_EQ(step.metrics.loss.has_value(), is_report_step(step.step, 50));
    looked_at += step.metrics.loss.has_value();
  }
  EXPECT_EQ(looked_at, 20u);
  EXPECT_EQ(steps.back().metrics.loss, result.final.loss);
}

TEST(TrainingThreads, ResumedRunEndsWithTheModelOfOneThatWasNeverStopped) {
  for (const char* method : {"diana(natural, down=natural)", "ef(topk(20%))", "ef21(topk(20%))",
                             "dgc(10%)", "powersgd(rank=2)", "qsgd(bits=4)", "lasg(none)",
                             "sasg(topk(50%))", "sasg(topk(20%), rule=server)"}) {
    Trial trial;
    trial.training.method = method;
    trial.training.batch = 4;
    trial.training.run.steps = 60;
    const TrainingResult whole = run(trial);

    const TestDirectory directory;
    trial.training.run.checkpoint_every = 25;
    trial.training.run.steps = 57;  // so that steps behind the checkpoint have to be done again
    run(trial, directory / ".");
    trial.training.run.steps = 60;
    trial.training.run.resume = true;
    const TrainingResult resumed = run(trial, directory / ".");
    EXPECT_EQ(resumed.resumed_from, 50u);
    EXPECT_EQ(resumed.model_hash, whole.model_hash) << method;
    EXPECT_EQ(record::read_steps(directory / record::kStepsFile).size(), 60u);
  }
}

TEST(TrainingThreads, CheckpointOfAnotherRunIsRefusedWithWhatDiffers) {
  const TestDirectory directory;
  Trial trial;
  trial.training.run.steps = 10;
  trial.training.run.checkpoint_every = 5;
  trial.training.run.configuration = {{"seed", 1}, {"split", "iid"}};
  run(trial, directory / ".");
  trial.training.run.resume = true;
  trial.training.run.configuration["seed"] = 2;
  const std::string message = message_of<FileError>([&] { run(trial, directory / "."); });
  EXPECT_TRUE(message.ends_with("is of another run: seed was 1 and is 2")) << message;
}

TEST(TrainingThreads, CheckpointWithoutAManifestIsNone) {
  const TestDirectory directory;
  Trial trial;
  trial.training.run.steps = 10;
  trial.training.run.checkpoint_every = 5;
  run(trial, directory / ".");
  std::filesystem::remove(directory / "checkpoints/step-10/manifest.json");
  trial.training.run.resume = true;
  EXPECT_EQ(run(trial, directory / ".").resumed_from, 5u);
  std::filesystem::remove_all(directory / "checkpoints");
  EXPECT_EQ(run(trial, directory / ".").resumed_from, 0u);
}

TEST(TrainingThreads, StepsThatOverflowChangeNothingAndAreCounted) {
  data::Dataset data;
  data.rows = {.features = 1, .starts = {0, 1, 2}, .columns = {0, 0}, .values = {1, 1e30}};
  data.labels = {1, 1e30};  // the gradient's 1e60 is no float
  const Experiment experiment(
      std::move(data),
      {.loss = Loss::least_squares, .split = {data::Split::Kind::label}, .ranks = 2});
  const TestDirectory directory;
  TrainingOptions training{.method = "natural", .run = {.steps = 3}};
  training.run.directory = directory / ".";
  training.step_rule = parse_step_rule("0.1");
  run_communicators(2, [&](Communicator& communicator) {
    const TrainingResult result = train(communicator, experiment, training);
    EXPECT_EQ(result.x, std::vector<double>{0});
    for (const record::StepRecord& step : result.steps) EXPECT_TRUE(step.poisoned);
  });
}

TEST(TrainingFiles, DianaSolvesMushroomsSplitByLabel) {
  const std::filesystem::path path = "../shared/data/libsvm/mushrooms";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is not there";
  const TestDirectory directory;
  const Experiment experiment(
      data::read_libsvm(path),
      {.l2 = parse_l2_rule("L/100"), .split = data::parse_split("label"), .ranks = 4});
  TrainingOptions training{.method = "diana(natural)", .run = {.steps = 1200}};
  training.run.directory = directory / ".";
  training.step_facts = experiment.step_facts();
  training.find_optimum = [&] { return find_optimum(experiment.objective()).value; };
  run_communicators(4, [&](Communicator& communicator) {
    const TrainingResult result = train(communicator, experiment, training);
    if (communicator.rank() == 0) {
      EXPECT_LT(*result.final.gap, 1e-8);
    }
  });
}

TEST(Training, LooksAtTheObjectiveTwentyTimesAndAtTheEnd) {
  for (const std::uint64_t steps : {1, 5, 19, 20, 21, 1000, 4001}) {
    std::uint64_t reports = 0;
    for (std::uint64_t step = 1; step <= steps; ++step) reports += is_report_step(step, steps);
    EXPECT_EQ(reports, std::min<std::uint64_t>(steps, 20));
    EXPECT_TRUE(is_report_step(steps, steps));
  }
}

}  // namespace
}  // namespace gradwire::convex
