#include "gradwire/collective/host_choice.h"

#include <gtest/gtest.h>

#include "gradwire/core/error_test_support.h"

namespace gradwire {
namespace {

using Hosts = std::vector<std::size_t>;

TEST(HostChoice, IsReadAndWritten) {
  for (const char* text : {"auto", "off", "4"}) EXPECT_EQ(HostChoice::of_text(text).text(), text);
  for (const char* text : {"", "0", "-1", "2x", "on"}) {
    EXPECT_NE(error_of([&] { HostChoice::of_text(text); }).find("take auto, off"),
              std::string::npos);
  }
}

TEST(HostChoice, ANumberGivesEachHostConsecutiveRanks) {
  const std::vector<std::string> ranks(6);
  EXPECT_EQ(hosts_by_rank({.count = 3}, ranks), (Hosts{0, 0, 1, 1, 2, 2}));
  EXPECT_EQ(hosts_by_rank({.count = 2}, ranks), (Hosts{0, 0, 0, 1, 1, 1}));
  EXPECT_NE(error_of([&] { hosts_by_rank({.count = 4}, ranks); }).find("divides them"),
            std::string::npos);
  EXPECT_NE(error_of([&] { hosts_by_rank({.count = 12}, ranks); }), "");
}

TEST(HostChoice, MachinesTellHostsApartWhateverTheOrderOfTheRanks) {
  const std::vector<std::string> machines = {"b", "a", "b", "c", "a"};
  EXPECT_EQ(hosts_by_rank({.is_automatic = true}, machines), (Hosts{0, 1, 0, 2, 1}));
}

TEST(HostChoice, OneLevelIsEnoughWhereNoRanksShareAHostOrAllDo) {
  const std::vector<std::string> apart = {"a", "b", "c"}, together = {"a", "a", "a"};
  EXPECT_EQ(hosts_by_rank({.is_automatic = true}, apart), Hosts());
  EXPECT_EQ(hosts_by_rank({.is_automatic = true}, together), Hosts());
  EXPECT_EQ(hosts_by_rank({.count = 1}, together), Hosts());
  EXPECT_EQ(hosts_by_rank({.count = 3}, together), Hosts());
  EXPECT_EQ(hosts_by_rank({}, together), Hosts());
}

TEST(HostChoice, TheHostOfEveryRankCanBeGiven) {
  const std::vector<std::string> ranks(3);
  EXPECT_EQ(hosts_by_rank({.by_rank = {0, 1, 0}}, ranks), (Hosts{0, 1, 0}));
  for (const Hosts& wrong : {Hosts{0, 1}, Hosts{1, 0, 0}, Hosts{0, 2, 1}}) {
    EXPECT_NE(error_of([&] { hosts_by_rank({.by_rank = wrong}, ranks); }), "");
  }
}

}  // namespace
}  // namespace gradwire
