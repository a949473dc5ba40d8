#include "record/run_record.h"

#include <limits>

#include "gradwire/core/error.h"
#include "gradwire/file/test_directory.h"
#include "gtest/gtest.h"

namespace gradwire::record {
namespace {

RunRecord example() {
  return {.method = "diana(natural)",
          .workers = 4,
          .steps = 100,
          .start = {.loss = 0.7, .gap = 0.5},
          .final = {.loss = 0.1 + 0.2, .gap = 1e-12},
          .traffic = {.message_bytes = 3,
                      .bytes_sent = (std::uint64_t{1} << 60) + 1,
                      .bytes_received = 2},
          .uploads = 400,
          .uploads_skipped = 5,
          .poisoned = 1,
          .model_hash = "0123456789abcdef",
          .phases = {.compute_seconds = 1.5,
                     .encode_seconds = 0.25,
                     .exchange_seconds = 3,
                     .decode_seconds = 0.125},
          .configuration = {{"model", "logistic"}, {"l2", 0.01}},
          .version = "0.1.0",
          .machine = {{"cpus", 2}}};
}

TEST(RunRecord, ComesBackAsItWasWritten) {
  const TestDirectory directory;
  write_run(directory / kRunFile, example());
  EXPECT_EQ(read_run(directory / kRunFile), example());
  EXPECT_EQ(directory.names(), std::vector<std::string>{kRunFile});  // nothing temporary is left
}

TEST(RunRecord, MetricThatIsNotThereIsNotWritten) {
  const Json document = to_json(example());
  EXPECT_TRUE(document["final"].contains("gap"));
  EXPECT_FALSE(document["final"].contains("accuracy"));
}

TEST(RunRecord, NumberThatIsNotFiniteIsNullInTheFile) {
  const TestDirectory directory;
  RunRecord record = example();
  record.final.loss = std::numeric_limits<double>::infinity();
  write_run(directory / kRunFile, record);
  EXPECT_TRUE(read_json_file(directory / kRunFile)["final"]["loss"].is_null());
  EXPECT_TRUE(std::isnan(*read_run(directory / kRunFile).final.loss));
}

TEST(RunRecord, FieldThatIsMissingOrOfAnotherTypeIsNamed) {
  const TestDirectory directory;
  const auto path = directory / kRunFile;
  const auto message = [&](const Json& document) {
    write_json_file(path, document);
    return message_of<FileError>([&] { read_run(path); });
  };
  Json document = to_json(example());
  document.erase("uploads");
  EXPECT_EQ(message(document), path.string() + ": the field 'uploads' is missing");
  document["uploads"] = "many";
  EXPECT_EQ(message(document), path.string() + ": the field 'uploads' is of another type");
  EXPECT_EQ(message(Json::array()), path.string() + ": the field 'method' is missing");
}

TEST(RunRecord, FileThatIsNoJsonIsRefused) {
  const TestDirectory directory;
  write_text(directory / kRunFile, "{\"method\": ");
  EXPECT_EQ(message_of<FileError>([&] { read_run(directory / kRunFile); }),
            (directory / kRunFile).string() + ": is not a JSON document");
}

TEST(RunRecord, FieldsThatAreNotKnownAreLeftAlone) {
  Json document = to_json(example());
  document["colour"] = "blue";
  EXPECT_EQ(run_from_json(document), example());
}

}  // namespace
}  // namespace gradwire::record
