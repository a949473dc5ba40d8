#include "data/split.h"

#include <algorithm>
#include <set>

#include "gradwire/core/error.h"
#include "gradwire/file/test_directory.h"
#include "gtest/gtest.h"

namespace gradwire::data {
namespace {

// 30% of one label, the rest of the other.
std::vector<double> two_labels(std::size_t rows) {
  std::vector<double> labels(rows, -1);
  for (std::size_t i = 0; i < rows; ++i) {
    if (i % 10 < 3) labels[i] = 1;
  }
  return labels;
}

void expect_each_row_once(const std::vector<Shard>& shards, std::size_t rows) {
  std::vector<std::uint32_t> seen;
  double weight = 0;
  for (const Shard& shard : shards) {
    seen.insert(seen.end(), shard.rows.begin(), shard.rows.end());
    weight += shard.weight;
    EXPECT_DOUBLE_EQ(shard.weight, static_cast<double>(shards.size() * shard.rows.size()) /
                                       static_cast<double>(rows));
  }
  std::ranges::sort(seen);
  ASSERT_EQ(seen.size(), rows);
  for (std::uint32_t i = 0; i < rows; ++i) EXPECT_EQ(seen[i], i);
  EXPECT_NEAR(weight, static_cast<double>(shards.size()), 1e-9);
}

TEST(Split, EveryRowIsInOneShardAndWeightsAverageToOne) {
  for (const char* spec :
       {"iid", "label", "dirichlet(0.001)", "dirichlet(0.5)", "dirichlet(100)"}) {
    for (const std::size_t workers : {1, 3, 7, 2000}) {
      SCOPED_TRACE(spec);
      expect_each_row_once(split_rows(parse_split(spec), two_labels(1003), workers, 1), 1003);
    }
  }
}

TEST(Split, IidAndLabelAreEvenToARow) {
  for (const char* spec : {"iid", "label"}) {
    for (const Shard& shard : split_rows(parse_split(spec), two_labels(1003), 10, 1)) {
      EXPECT_GE(shard.rows.size(), 100u);
      EXPECT_LE(shard.rows.size(), 101u);
    }
  }
}

TEST(Split, LabelGivesMostWorkersOneLabelOnly) {
  const auto labels = two_labels(1000);
  std::size_t mixed = 0;
  for (const Shard& shard : split_rows(parse_split("label"), labels, 7, 1)) {
    std::set<double> seen;
    for (const std::uint32_t row : shard.rows) seen.insert(labels[row]);
    mixed += seen.size() > 1;
  }
  EXPECT_EQ(mixed, 1u);
}

TEST(Split, DirichletIsUnevenWhereItsNumberIsSmallAndEvenWhereItIsLarge) {
  const auto largest = [](const char* spec) {
    std::size_t most = 0;
    for (const Shard& shard : split_rows(parse_split(spec), two_labels(10000), 10, 1)) {
      most = std::max(most, shard.rows.size());
    }
    return most;
  };
  EXPECT_GT(largest("dirichlet(0.01)"), 4000u);
  EXPECT_LT(largest("dirichlet(10000)"), 1100u);
}

TEST(Split, TinyDirichletNumbersLeaveShardsEmpty) {
  const auto shards = split_rows(parse_split("dirichlet(0.000001)"), two_labels(100), 10, 1);
  expect_each_row_once(shards, 100);
  EXPECT_GE(std::ranges::count_if(shards, [](const Shard& s) { return s.rows.empty(); }), 8);
}

TEST(Split, NumbersAsLabelsAreDealtOutInGroups) {
  std::vector<double> labels(1000);
  for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<double>(i * 7 % 1000);
  const auto shards = split_rows(parse_split("dirichlet(0.0001)"), labels, 4, 1);
  expect_each_row_once(shards, 1000);
  for (const Shard& shard : shards) EXPECT_EQ(shard.rows.size() % 100, 0u);  // whole groups
}

TEST(Split, IsAFunctionOfTheSeed) {
  const auto rows = [](std::uint64_t seed) {
    return split_rows(parse_split("iid"), two_labels(100), 2, seed).front().rows;
  };
  EXPECT_EQ(rows(1), rows(1));
  EXPECT_NE(rows(1), rows(2));
}

TEST(Split, SpecIsCanonical) {
  EXPECT_EQ(parse_split(" dirichlet( concentration = 0.50 ) ").spec(), "dirichlet(0.5)");
  EXPECT_EQ(parse_split("label").spec(), "label");
  EXPECT_EQ(parse_split("iid").spec(), "iid");
}

TEST(Split, WrongSpecShowsThePosition) {
  const auto message = [](const char* text) {
    return message_of<SpecError>([&] { parse_split(text); });
  };
  EXPECT_EQ(message("labels"),
            "there is no split called 'labels'; did you mean 'label'?\n  labels\n  ^");
  EXPECT_EQ(message("dirichlet"),
            "'dirichlet' needs a number, as in 'dirichlet(0.5)'\n  dirichlet\n  ^");
  EXPECT_NE(message("dirichlet(0)"), "");
  EXPECT_NE(message("iid(3)"), "");
  EXPECT_EQ(message("iid | label"), "a split is not a pipe\n  iid | label\n        ^");
}

}  // namespace
}  // namespace gradwire::data
