// The parts of an elastic run that need no group: description, checkpoints, record.
#include <array>

#include "gradwire/core/error.h"
#include "gradwire/file/test_directory.h"
#include "gtest/gtest.h"
#include "session/elastic_checkpoints.h"
#include "session/elastic_description.h"
#include "session/elastic_log.h"

namespace gradwire::session {
namespace {

using record::Json;

TEST(ElasticDescription, ANewcomerLearnsEverythingFromIt) {
  ElasticDescription run{.method = "ef(topk(1%))", .data_checksum = "ab", .global_batch = 96};
  run.options.model = "mlp(hidden=7)";
  run.options.data = "fashion-mnist";
  run.options.steps = 12;
  run.options.network.clip = 0.5;
  run.options.network.context = 9;
  run.options.network.evaluate_every = 3;
  run.options.network.no_augmentation = true;
  run.members_least = 4;
  const ElasticDescription copy = parse_description(to_bytes(run));
  EXPECT_EQ(to_json(copy), to_json(run));
  EXPECT_EQ(copy.options.network.context, 9u);
  EXPECT_EQ(copy.members_least, 4u);
}

TEST(ElasticDescription, OtherBytesAreRefused) {
  EXPECT_EQ(message_of<Error>([] { parse_description({}); }),
            "the run does not describe itself as a run of 'gradwire train' does");
  const std::string other = R"({"version": "0.0.9"})";
  EXPECT_NE(message_of<Error>([&] {
              parse_description(std::as_bytes(std::span(other)));
            }).find("members must have the same version"),
            std::string::npos);
}

MethodState state_with(double number) {
  MethodState state;
  state.spec = "x";
  state.numbers = {{"n", number}};
  return state;
}

TEST(ElasticCheckpoints, ASettledOneIsPreferredToANewerOne) {
  const TestDirectory directory;
  ElasticCheckpoints checkpoints(directory / "c", {{"seed", 1}}, 2);
  EXPECT_FALSE(checkpoints.newest());
  checkpoints.save(10, 11, 7, state_with(10));
  EXPECT_FALSE(checkpoints.newest()->is_settled);
  checkpoints.settle(10);  // the turn before
  EXPECT_FALSE(checkpoints.newest()->is_settled);
  checkpoints.settle(11);
  EXPECT_TRUE(checkpoints.newest()->is_settled);
  for (const std::uint64_t step : {20, 30, 40}) checkpoints.save(step, step + 1, 7, state_with(0));
  const auto found = checkpoints.newest();  // it is kept, though two newer ones are
  EXPECT_EQ(found->step, 10u);
  EXPECT_EQ(found->state, state_with(10));
}

TEST(ElasticCheckpoints, OneOfAnotherRunIsRefused) {
  const TestDirectory directory;
  ElasticCheckpoints(directory / "c", {{"seed", 1}}, 2).save(1, 1, 7, state_with(1));
  const ElasticCheckpoints other(directory / "c", {{"seed", 2}}, 2);
  EXPECT_NE(message_of<FileError>([&] { other.newest(); }).find("seed was 1 and is 2"),
            std::string::npos);
}

membership::Member member(std::uint64_t number) { return {{number << 32, 0}, "host:1"}; }

TEST(ElasticLog, ViewsAreCountedInStepsOfTheRun) {
  const TestDirectory directory;
  ElasticLog log(directory / ".", 0, true);
  log.start(7, 5);  // two evaluations came before
  log.note({.view = {2, {member(1), member(2)}}, .step = 7});
  EXPECT_EQ(log.take_changes(), std::vector<std::string>{"view 2 of 2 members after step 5"});
  log.add_step(8, {.step = 6, .attendance = record::Attendance{}});
  log.add_average(9, {}, {.accuracy = 0.5});
  log.note({.view = {3, {member(1), member(3)}},
            .departed = {{member(2).id, membership::Departure::closed}},
            .step = 9,
            .change_seconds = std::chrono::milliseconds(250)});
  EXPECT_EQ(log.take_changes(),
            std::vector<std::string>{"view 3 of 2 members after step 6; 00000003 joined; 00000002 "
                                     "departed: " +
                                     std::string(name(membership::Departure::closed))});
  log.flush();
  const auto steps = record::read_steps(directory / record::kStepsFile);
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_EQ(steps[0].metrics.accuracy, 0.5);
  const Json views = log.views();
  ASSERT_EQ(views.size(), 2u);
  EXPECT_EQ(views[1]["step"], 6);
  EXPECT_EQ(views[1]["change_ms"], 250.0);
  EXPECT_EQ(views[1]["departed"][0]["lost_memory"], true);
}

TEST(ElasticLog, AResumedRunKeepsItsFirstSteps) {
  const TestDirectory directory;
  {
    ElasticLog log(directory / ".", 0, false);
    for (std::uint64_t step = 1; step <= 5; ++step) {
      log.add_step(step, {.step = step, .attendance = record::Attendance{}});
    }
    log.flush();
  }
  EXPECT_EQ(ElasticLog(directory / ".", 3, false).steps().size(), 3u);
  EXPECT_EQ(ElasticLog(directory / ".", 9, false).steps().size(), 0u);
}

}  // namespace
}  // namespace gradwire::session
