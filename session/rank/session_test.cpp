// A session in threads, with the plainest trainee: all ranks walk towards one point.
#include "session/rank/session.h"

#include <array>
#include <atomic>
#include <cmath>
#include <fstream>

#include "gradwire/collective/test_support.h"
#include "gradwire/core/error.h"
#include "gradwire/file/test_directory.h"
#include "gradwire/wire/frame.h"
#include "gtest/gtest.h"
#include "record/checkpoint_directory.h"
#include "record/fields.h"

namespace gradwire::session {
namespace {

constexpr std::size_t kElements = 100;

// Half the squared distance to (1, ..., 1), with other noise on every rank.
class Walker final : public Trainee {
 public:
  explicit Walker(const Communicator& communicator) : rank_(communicator.rank()) {}

  std::uint64_t parameters() const override { return kElements; }

  StepDone step(Method& method, std::uint64_t step) override {
    std::vector<float> gradient = rank_values(rank_, step, kElements);
    double loss = 0;
    for (std::size_t i = 0; i < kElements; ++i) {
      gradient[i] = std::tanh(gradient[i]) + x_[i] - 1;
      loss += 0.5 * double{x_[i] - 1} * double{x_[i] - 1};
    }
    const std::array<std::span<float>, 1> gradients = {gradient};
    StepDone done{.record = {.step = step + 1}, .tally = {.loss = loss, .samples = 1}};
    record::note_report(method.run({.step = step}, gradients), done.record);
    for (std::size_t i = 0; i < kElements; ++i) x_[i] -= 0.1F * gradient[i];
    if (strays_at && step + 1 == *strays_at && rank_ == 1) x_[0] += 1;
    return done;
  }

  std::uint64_t hash() override { return checksum(std::as_bytes(std::span(x_))); }

  Evaluated evaluate(std::uint64_t step) override {
    evaluated.push_back(step);
    return {.metrics = {.accuracy = accuracies.empty() ? 0 : accuracies[evaluated.size() - 1]},
            .traffic = {.bytes_sent = 1000}};
  }
  bool is_better(const record::Metrics& metrics, const record::Metrics& than) const override {
    return metrics.accuracy > than.accuracy;
  }

  record::Json save(const std::filesystem::path& directory, bool leads_disk) override {
    if (leads_disk) {
      std::ofstream file(directory / "x", std::ios::binary);
      file.write(reinterpret_cast<const char*>(x_.data()), sizeof(float) * kElements);
    }
    return {{"walker", rank_}};
  }
  void load(const std::filesystem::path& directory, std::uint64_t step,
            const record::Json& manifest) override {
    EXPECT_EQ(record::field<std::size_t>(manifest, "walker"), 0u);
    loaded_step = step;
    std::ifstream file(directory / "x", std::ios::binary);
    file.read(reinterpret_cast<char*>(x_.data()), sizeof(float) * kElements);
  }

  std::optional<std::uint64_t> strays_at;
  std::vector<double> accuracies;  // of the evaluations
  std::vector<std::uint64_t> evaluated;
  std::uint64_t loaded_step = 0;

 private:
  const std::size_t rank_;
  std::vector<float> x_ = std::vector<float>(kElements);
};

struct Outcome {
  RunResult result;
  std::uint64_t hash = 0;
  std::uint64_t loaded_step = 0;
  std::vector<std::uint64_t> evaluated;
};

// Rank 0's outcome, of two ranks.
Outcome run(const RunOptions& options, const std::filesystem::path& directory,
            const std::function<void(Walker&)>& prepare = {}) {
  Outcome outcome;
  run_communicators(2, [&](Communicator& communicator) {
    RunOptions own = options;
    own.directory = directory;
    Walker walker(communicator);
    if (prepare) prepare(walker);
    const auto method =
        make_method(communicator, {{.name = "x", .shape = {kElements}}}, "ef(topk(10%))", {});
    RunResult result = run_session(communicator, *method, walker, own);
    if (communicator.rank() != 0) {
      EXPECT_TRUE(result.steps.empty());
      return;
    }
    outcome = {std::move(result), walker.hash(), walker.loaded_step, walker.evaluated};
  });
  return outcome;
}

std::vector<std::uint64_t> checkpoints_in(const TestDirectory& directory) {
  std::vector<std::uint64_t> steps;
  for (const auto& each : record::whole_checkpoints(directory / record::kCheckpoints)) {
    steps.push_back(each.step);
  }
  return steps;
}

TEST(SessionThreads, StepsAreDoneLoggedAndEvaluated) {
  const TestDirectory directory;
  const auto is_evaluated = [](std::uint64_t step) { return is_due(step, 4); };
  const Outcome outcome = run({.steps = 10, .is_evaluated = is_evaluated}, directory / ".");
  EXPECT_EQ(outcome.evaluated, (std::vector<std::uint64_t>{4, 8, 10}));
  EXPECT_EQ(outcome.result.steps_done, 10u);
  EXPECT_EQ(outcome.result.parameters, kElements);
  ASSERT_EQ(outcome.result.steps.size(), 10u);
  for (const record::StepRecord& step : outcome.result.steps) {
    const bool was_evaluated = step.step % 4 == 0 || step.step == 10;
    EXPECT_TRUE(step.metrics.loss.has_value()) << step.step;
    EXPECT_EQ(step.metrics.accuracy.has_value(), was_evaluated) << step.step;
    EXPECT_EQ(step.traffic.bytes_sent >= 1000, was_evaluated) << step.step;
  }
  EXPECT_LT(*outcome.result.steps.back().metrics.loss, *outcome.result.steps.front().metrics.loss);
  EXPECT_EQ(record::read_steps(directory / record::kStepsFile).size(), 10u);
  EXPECT_TRUE(checkpoints_in(directory).empty());
}

TEST(SessionThreads, AStoppedRunGoesOnAndEndsWithTheSameModel) {
  const TestDirectory whole, parts;
  const Outcome straight = run({.steps = 40}, whole / ".");

  std::atomic<int> asked = 0;
  const auto stop = [&] { return ++asked > 4; };  // two ranks ask
  const Outcome stopped = run({.steps = 40, .wants_stop = stop}, parts / ".");
  EXPECT_LT(stopped.result.steps_done, 40u);
  EXPECT_EQ(checkpoints_in(parts), std::vector<std::uint64_t>{stopped.result.steps_done});

  std::uint64_t ready_at = 0;
  const auto on_ready = [&](std::uint64_t resumed_from) { ready_at = resumed_from; };
  const Outcome rest = run({.steps = 40, .resume = true, .on_ready = on_ready}, parts / ".");
  EXPECT_EQ(rest.result.resumed_from, stopped.result.steps_done);
  EXPECT_EQ(rest.loaded_step, stopped.result.steps_done);
  EXPECT_EQ(ready_at, stopped.result.steps_done);
  EXPECT_EQ(rest.hash, straight.hash);
  ASSERT_EQ(rest.result.steps.size(), 40u);
  for (std::size_t i = 0; i < 40; ++i) {
    EXPECT_EQ(rest.result.steps[i].metrics.loss, straight.result.steps[i].metrics.loss) << i;
  }
}

TEST(SessionThreads, NewestCheckpointsAndTheBestOneStay) {
  const TestDirectory directory;
  const auto is_evaluated = [](std::uint64_t step) { return is_due(step, 2); };
  run({.steps = 10, .is_evaluated = is_evaluated, .checkpoint_every = 2}, directory / ".",
      [](Walker& walker) {
        walker.accuracies = {0.1, 0.5, 0.2, 0.5, 0.3};
      });
  EXPECT_EQ(checkpoints_in(directory), (std::vector<std::uint64_t>{4, 8, 10}));
}

// Two ranks, each with a disk of its own.
Outcome run_apart(const RunOptions& options, const TestDirectory& directory) {
  Outcome outcome;
  run_communicators(2, [&](Communicator& communicator) {
    RunOptions own = options;
    own.directory = directory / ("disk" + std::to_string(communicator.rank()));
    Walker walker(communicator);
    const auto method =
        make_method(communicator, {{.name = "x", .shape = {kElements}}}, "ef(topk(10%))", {});
    RunResult result = run_session(communicator, *method, walker, own);
    if (communicator.rank() == 0)
      outcome = {std::move(result), walker.hash(), walker.loaded_step, {}};
  });
  return outcome;
}

std::vector<std::uint64_t> steps_on_disk(const TestDirectory& directory, const char* disk) {
  std::vector<std::uint64_t> steps;
  for (const auto& each : record::whole_checkpoints(directory / disk / record::kCheckpoints)) {
    steps.push_back(each.step);
  }
  return steps;
}

using Steps = std::vector<std::uint64_t>;

TEST(SessionThreads, EveryDiskHasItsCheckpointsAndLosesOldOnes) {
  const TestDirectory directory;
  for (const char* disk : {"disk0", "disk1"}) std::filesystem::create_directory(directory / disk);
  run_apart({.steps = 10, .checkpoint_every = 2}, directory);
  EXPECT_EQ(steps_on_disk(directory, "disk0"), (Steps{8, 10}));
  EXPECT_EQ(steps_on_disk(directory, "disk1"), (Steps{8, 10}));
}

TEST(SessionThreads, ResumptionTakesTheNewestStepOfAllDisks) {
  const TestDirectory directory;
  for (const char* disk : {"disk0", "disk1"}) std::filesystem::create_directory(directory / disk);
  const Outcome straight = run_apart({.steps = 14}, directory);
  run_apart({.steps = 10, .checkpoint_every = 2}, directory);
  std::filesystem::remove_all(directory / "disk1" / record::kCheckpoints / "step-10");
  const Outcome rest = run_apart({.steps = 14, .resume = true}, directory);
  EXPECT_EQ(rest.loaded_step, 8u);
  EXPECT_EQ(rest.hash, straight.hash);
  EXPECT_EQ(steps_on_disk(directory, "disk0"), Steps{8}) << "step 10 was not on all disks";
}

TEST(SessionThreads, DisksWithoutACommonCheckpointAreNamed) {
  const TestDirectory directory;
  for (const char* disk : {"disk0", "disk1"}) std::filesystem::create_directory(directory / disk);
  run_apart({.steps = 10, .checkpoint_every = 5}, directory);
  std::filesystem::remove_all(directory / "disk1" / record::kCheckpoints);
  const std::string message =
      message_of<Error>([&] { run_apart({.steps = 12, .resume = true}, directory); });
  EXPECT_NE(message.find("rank 0 has step 10, rank 1 has none"), std::string::npos) << message;
  EXPECT_NE(message.find("disk"), std::string::npos) << "the directory is named: " << message;
}

// What is best is known to the run that goes on.
TEST(SessionThreads, TheBestCheckpointOutlivesAResumption) {
  const TestDirectory directory;
  RunOptions options{.steps = 6,
                     .is_evaluated = [](std::uint64_t step) { return is_due(step, 2); },
                     .checkpoint_every = 2,
                     .checkpoints_kept = 1};
  run(options, directory / ".", [](Walker& walker) { walker.accuracies = {0.1, 0.5, 0.2}; });
  options.steps = 10;
  options.resume = true;
  run(options, directory / ".", [](Walker& walker) { walker.accuracies = {0.4, 0.3}; });
  EXPECT_EQ(checkpoints_in(directory), (std::vector<std::uint64_t>{4, 10}));
}

TEST(SessionThreads, ARankThatStraysIsFoundAtTheNextEvaluation) {
  const TestDirectory directory;
  const auto is_evaluated = [](std::uint64_t step) { return is_due(step, 4); };
  const std::string message = message_of<Error>([&] {
    run({.steps = 12, .is_evaluated = is_evaluated}, directory / ".",
        [](Walker& walker) { walker.strays_at = 6; });
  });
  EXPECT_NE(message.find("the model after step 8"), std::string::npos) << message;
}

TEST(SessionThreads, ACheckpointAfterTheLastStepIsRefused) {
  const TestDirectory directory;
  run({.steps = 10, .checkpoint_every = 5}, directory / ".");
  const std::string message =
      message_of<Error>([&] { run({.steps = 7, .resume = true}, directory / "."); });
  EXPECT_NE(message.find("that of step 10, which is after the last one asked for, 7"),
            std::string::npos)
      << message;
}

TEST(SessionThreads, AFinishedRunThatIsResumedDoesNoStep) {
  const TestDirectory directory;
  const Outcome first = run({.steps = 10, .checkpoint_every = 5}, directory / ".");
  const Outcome again = run({.steps = 10, .resume = true}, directory / ".");
  EXPECT_EQ(again.result.resumed_from, 10u);
  EXPECT_EQ(again.hash, first.hash);
  EXPECT_EQ(again.result.steps.size(), 10u);
  EXPECT_EQ(again.result.final, first.result.final);
}

TEST(SessionThreads, ReportsTellOfProgress) {
  const TestDirectory directory;
  std::vector<Report> reports;
  run({.steps = 30, .on_report = [&](const Report& report) { reports.push_back(report); }},
      directory / ".");
  ASSERT_GE(reports.size(), 2u);
  EXPECT_EQ(reports.back().step, 30u);
  EXPECT_EQ(reports.back().seconds_left, 0);
  EXPECT_LT(*reports.back().loss, *reports.front().loss);
  EXPECT_GT(reports.back().bytes_up, reports.front().bytes_up);
  for (const Report& report : reports) EXPECT_GT(report.steps_per_second, 0);
}

}  // namespace
}  // namespace gradwire::session
