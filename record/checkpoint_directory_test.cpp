#include "record/checkpoint_directory.h"

#include "gradwire/core/error.h"
#include "gradwire/file/test_directory.h"
#include "gtest/gtest.h"

namespace gradwire::record {
namespace {

class CheckpointDirectory : public testing::Test {
 protected:
  void make(std::uint64_t step) {
    complete_checkpoint(begin_checkpoint(place_, step), step, {{"seed", 1}}, {{"more", step}});
  }
  std::vector<std::uint64_t> steps() const {
    std::vector<std::uint64_t> found;
    for (const auto& checkpoint : whole_checkpoints(place_)) found.push_back(checkpoint.step);
    return found;
  }

  const TestDirectory directory_;
  const std::filesystem::path place_ = directory_ / "checkpoints";
};

TEST_F(CheckpointDirectory, OnlyThoseWithAManifestCount) {
  make(20);
  make(3);
  begin_checkpoint(place_, 30);
  EXPECT_EQ(steps(), (std::vector<std::uint64_t>{3, 20}));
}

TEST_F(CheckpointDirectory, TheLastOnesAndTheBestStay) {
  for (const std::uint64_t step : {1, 2, 3, 4, 5}) make(step);
  remove_old_checkpoints(place_, 2, 2);
  EXPECT_EQ(steps(), (std::vector<std::uint64_t>{2, 4, 5}));
}

TEST_F(CheckpointDirectory, WhatIsNotWholeIsRemovedAndDoesNotCount) {
  make(4);
  make(5);
  begin_checkpoint(place_, 9);
  remove_old_checkpoints(place_, 1);
  EXPECT_EQ(steps(), (std::vector<std::uint64_t>{5}));
  EXPECT_FALSE(std::filesystem::exists(place_ / "step-9"));
}

TEST_F(CheckpointDirectory, AnotherConfigurationIsRefusedWithWhatDiffers) {
  make(7);
  const WholeCheckpoint checkpoint = whole_checkpoints(place_).back();
  EXPECT_EQ(read_manifest(checkpoint, {{"seed", 1}})["more"], 7);
  try {
    read_manifest(checkpoint, {{"seed", 2}});
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("seed was 1 and is 2"), std::string::npos);
  }
}

TEST_F(CheckpointDirectory, NoDirectoryHasNone) { EXPECT_TRUE(steps().empty()); }

}  // namespace
}  // namespace gradwire::record
