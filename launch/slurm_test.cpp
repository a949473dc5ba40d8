#include "launch/slurm.h"

#include "gradwire/core/error_test_support.h"
#include "gradwire/core/usage_error.h"
#include "gtest/gtest.h"

namespace gradwire::launch {
namespace {

using Hosts = std::vector<std::string>;
using Tasks = std::vector<std::size_t>;

TEST(SlurmHosts, PlainNamesStayAsTheyAre) {
  EXPECT_EQ(slurm_hosts("node1"), Hosts{"node1"});
  EXPECT_EQ(slurm_hosts("a,b.example.org"), (Hosts{"a", "b.example.org"}));
}

TEST(SlurmHosts, BracketsAreRangesThatKeepTheirZeros) {
  EXPECT_EQ(slurm_hosts("gpu[01-03,7],login"), (Hosts{"gpu01", "gpu02", "gpu03", "gpu7", "login"}));
  EXPECT_EQ(slurm_hosts("n[8-11]"), (Hosts{"n8", "n9", "n10", "n11"}));
  EXPECT_EQ(slurm_hosts("n[098-101]"), (Hosts{"n098", "n099", "n100", "n101"}));
}

TEST(SlurmHosts, NamesMayHaveSeveralBracketsAndAnEnding) {
  EXPECT_EQ(slurm_hosts("r[1-2]n[1,3]-ib"), (Hosts{"r1n1-ib", "r1n3-ib", "r2n1-ib", "r2n3-ib"}));
}

TEST(SlurmHosts, RefusesOtherTexts) {
  for (const char* text : {"", "a,,b", "n[1-", "n1]", "n[3-1]", "n[a-b]", "n[]", "n[1-99999999999]",
                           "n[1-900000]", "n[1-9999]m[1-9999]"}) {
    EXPECT_THROW(slurm_hosts(text), UsageError) << text;
  }
}

TEST(SlurmTasks, CountsMayBeRepeated) {
  EXPECT_EQ(slurm_tasks("4"), Tasks{4});
  EXPECT_EQ(slurm_tasks("2(x3),1"), (Tasks{2, 2, 2, 1}));
}

TEST(SlurmTasks, RefusesOtherTexts) {
  for (const char* text : {"", "x", "2(x", "2(x3", "2(xy)", "2(x99999999)", "1,,2"}) {
    EXPECT_THROW(slurm_tasks(text), UsageError) << text;
  }
}

}  // namespace
}  // namespace gradwire::launch
