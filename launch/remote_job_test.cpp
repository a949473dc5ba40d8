#include "launch/remote_job.h"

#include <cstring>

#include "gtest/gtest.h"

namespace gradwire::launch {
namespace {

std::optional<RemoteJob> read_text(std::string_view text) {
  return read_job([&](char* memory, std::size_t bytes) {
    if (bytes > text.size()) return false;
    if (bytes > 0) std::memcpy(memory, text.data(), bytes);
    text.remove_prefix(bytes);
    return true;
  });
}

const RemoteJob kJob{.version = "1.2.3",
                     .host = "user@host2",
                     .directory = "/a directory/with\na line",
                     .place = {.rank = 2,
                               .size = 8,
                               .host_workers = 2,
                               .master_host = "host1",
                               .master_port = 29500,
                               .run_key = 77},
                     .variables = {"A=b c", "EMPTY="},
                     .arguments = {"train", "--method", "ef(topk(1%) | natural)", ""}};

TEST(RemoteJob, ComesBackAsItWasWritten) {
  const auto job = read_text(write_job(kJob));
  ASSERT_TRUE(job);
  EXPECT_EQ(job->version, kJob.version);
  EXPECT_EQ(job->host, kJob.host);
  EXPECT_EQ(job->directory, kJob.directory);
  EXPECT_EQ(job->place.rank, 2u);
  EXPECT_EQ(job->place.size, 8u);
  EXPECT_EQ(job->place.host_workers, 2u);
  EXPECT_EQ(job->place.master_host, "host1");
  EXPECT_EQ(job->place.master_port, 29500);
  EXPECT_EQ(job->place.run_key, 77u);
  EXPECT_EQ(job->variables, kJob.variables);
  EXPECT_EQ(job->arguments, kJob.arguments);
}

TEST(RemoteJob, OtherBytesAreNoJob) {
  const std::string whole = write_job(kJob);
  for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) {
    EXPECT_FALSE(read_text(whole.substr(0, bytes))) << bytes;
  }
  EXPECT_FALSE(read_text("hello, this is a terminal\n"));
  RemoteJob wrong = kJob;
  wrong.place.rank = 7;  // of 8 ranks, two from 7 on
  EXPECT_FALSE(read_text(write_job(wrong)));
}

}  // namespace
}  // namespace gradwire::launch
