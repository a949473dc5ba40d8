#include "record/step_records.h"

#include "gradwire/core/error.h"
#include "gradwire/file/test_directory.h"
#include "gtest/gtest.h"
#include "record/json_file.h"

namespace gradwire::record {
namespace {

StepRecord example(std::uint64_t step) {
  return {
      .step = step,
      .metrics = step % 2 == 0 ? Metrics{.loss = 0.5, .gap = 1e-3} : Metrics{},
      .learning_rate = 0.1,
      .traffic = {.message_bytes = 90, .bytes_sent = 100 + step, .bytes_received = 200},
      .uploads = 4,
      .uploads_skipped = 1,
      .poisoned = step == 3,
      .phases = {.compute_seconds = 0.5,
                 .encode_seconds = 0.25,
                 .exchange_seconds = 0.125,
                 .decode_seconds = 1},
      .shares = step == 4 ? std::optional(std::vector<std::uint32_t>{20, 20, 20, 4}) : std::nullopt,
      .late = step == 2 ? std::vector<std::size_t>{1, 3} : std::vector<std::size_t>()};
}

std::vector<StepRecord> examples(std::uint64_t count) {
  std::vector<StepRecord> steps;
  for (std::uint64_t i = 1; i <= count; ++i) steps.push_back(example(i));
  return steps;
}

TEST(StepRecords, ComeBackAsTheyWereWritten) {
  const TestDirectory directory;
  const auto path = directory / kStepsFile;
  StepWriter writer(path);
  const auto steps = examples(5);
  writer.write(std::span(steps).first(2));
  EXPECT_EQ(read_steps(path), examples(2));  // while the writer is still there
  writer.write(std::span(steps).subspan(2));
  EXPECT_EQ(read_steps(path), steps);
}

TEST(StepRecords, LossThatNobodyLookedAtIsNull) {
  const TestDirectory directory;
  const auto path = directory / kStepsFile;
  StepWriter(path).write(examples(1));
  const Json line = Json::parse(read_text(path));
  EXPECT_TRUE(line["loss"].is_null());
  EXPECT_EQ(line["compute_ms"], 500.0);
}

TEST(StepRecords, LineThatAKilledRunWasWritingIsLeftOut) {
  const TestDirectory directory;
  const auto path = directory / kStepsFile;
  StepWriter(path).write(examples(3));
  const std::string text = read_text(path);
  write_text(path, text.substr(0, text.size() - 10));
  EXPECT_EQ(read_steps(path), examples(2));
}

TEST(StepRecords, GoOnBehindTheStepsThatAreKept) {
  const TestDirectory directory;
  const auto path = directory / kStepsFile;
  StepWriter(path).write(examples(5));
  StepWriter writer(path, 2);
  EXPECT_EQ(read_steps(path), examples(2));
  const auto steps = examples(4);
  writer.write(std::span(steps).subspan(2));
  EXPECT_EQ(read_steps(path), steps);
  EXPECT_EQ(message_of<FileError>([&] { StepWriter(path, 9); }),
            path.string() + ": has 4 steps, but the run resumes after step 9");
}

TEST(StepRecords, LineThatIsNoRecordIsRefusedWithItsNumber) {
  const TestDirectory directory;
  const auto path = directory / kStepsFile;
  StepWriter(path).write(examples(1));
  const std::string good = read_text(path);
  const auto message = [&](const std::string& text) {
    write_text(path, text);
    return message_of<FileError>([&] { read_steps(path); });
  };
  EXPECT_EQ(message(good + "nonsense\n"), path.string() + ": line 2: is not JSON");
  EXPECT_EQ(message(good + "{\"step\": 2}\n"),
            path.string() + ": line 2: the field 'learning_rate' is missing");
  EXPECT_EQ(message(good + good), path.string() + ": line 2: expected step 2, found 1");
}

TEST(StepRecords, FileThatCannotBeWrittenIsSaid) {
  const TestDirectory directory;
  EXPECT_NE(message_of<FileError>([&] { StepWriter(directory / "absent/steps.jsonl"); }), "");
}

}  // namespace
}  // namespace gradwire::record
