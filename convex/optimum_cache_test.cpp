#include "convex/optimum_cache.h"

#include "convex/generated.h"
#include "gradwire/file/test_directory.h"
#include "gtest/gtest.h"
#include "record/json_file.h"

namespace gradwire::convex {
namespace {

class OptimumCache : public testing::Test {
 protected:
  const TestDirectory directory_;
  const std::filesystem::path runs_ = directory_ / "runs";
  const data::Dataset data_ = generate_classes({.rows = 100, .features = 5});
  const Problem problem_{data_, Loss::logistic, 0.01};
  const Objective objective_{problem_, {.l1 = 0.01}};
  const std::filesystem::path path_ = optimum_path(objective_, runs_);
};

TEST_F(OptimumCache, WhatWasFoundIsTakenFromTheFile) {
  const Optimum found = find_optimum_once(objective_, runs_);
  EXPECT_EQ(found.value, find_optimum(objective_).value);
  const auto written = std::filesystem::last_write_time(path_);
  const Optimum again = find_optimum_once(objective_, runs_);
  EXPECT_EQ(again.value, found.value);
  EXPECT_EQ(again.x, found.x);
  EXPECT_EQ(std::filesystem::last_write_time(path_), written);
}

TEST_F(OptimumCache, FileThatIsDamagedIsWrittenAgain) {
  const Optimum found = find_optimum_once(objective_, runs_);
  const std::string good = read_text(path_);
  record::Json other = record::Json::parse(good);
  other["x"][0] = 1.0;
  record::Json foreign = record::Json::parse(good);
  foreign["key"] = "another problem";
  record::Json short_one = record::Json::parse(good);
  short_one["x"].erase(0);
  for (const std::string& bad :
       {std::string("nonsense"), std::string("[]"), good.substr(0, good.size() / 2), other.dump(),
        foreign.dump(), short_one.dump()}) {
    write_text(path_, bad);
    EXPECT_EQ(find_optimum_once(objective_, runs_).value, found.value);
    EXPECT_EQ(read_text(path_), good);
  }
}

TEST_F(OptimumCache, EveryProblemHasAFileOfItsOwn) {
  const Problem stronger(data_, Loss::logistic, 0.02);
  const Problem squares(data_, Loss::least_squares, 0.01);
  EXPECT_NE(optimum_path({stronger, objective_.regulariser}, runs_), path_);
  EXPECT_NE(optimum_path({squares, objective_.regulariser}, runs_), path_);
  EXPECT_NE(optimum_path({problem_, {}}, runs_), path_);
}

}  // namespace
}  // namespace gradwire::convex
