// Hosts with several ranks: threads, processes over TCP and MPI ranks get the same bits, and a
// process that is killed in the middle of a step is named by all others.
#include "tests/ranks/levels.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "gradwire/transport/mpi.h"
#include "tests/process_group.h"

namespace gradwire {
namespace {

using namespace std::chrono_literals;
using Lines = std::vector<std::string>;

constexpr std::size_t kRanks = 4;

Lines lines_of_threads() {
  Lines lines;
  run_communicators(kRanks, levels_options(), [&](Communicator& communicator) {
    run_levels(communicator, [&](const std::string& line) {
      if (communicator.rank() == 0) lines.push_back(line);
    });
  });
  return lines;
}

// What rank 0 of the group prints.
Lines lines_of(ProcessGroup& group) {
  EXPECT_TRUE(group.wait_for_all(std::chrono::minutes(10)));
  for (std::size_t i = 0; i < group.size(); ++i) {
    if (!group.has_ended(i)) continue;
    EXPECT_EQ(group.exit_code(i), 0) << group.err(i);
  }
  Lines lines;
  std::istringstream stream(group.out(0));
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

TEST(Levels, TcpGivesTheSameBitsAsInProcess) {
  ProcessGroup group;
  start_tcp_ranks(group, kRanks, [](std::size_t) { return Lines{"levels"}; });
  EXPECT_EQ(lines_of(group), lines_of_threads());
}

TEST(Levels, MpiGivesTheSameBitsAsInProcess) {
  if (!has_mpi()) GTEST_SKIP() << "this build has no MPI";
  if (!has_program("mpirun")) GTEST_SKIP() << "there is no mpirun";
  ProcessGroup group;
  start_mpi_ranks(group, kRanks, {"levels"});
  EXPECT_EQ(lines_of(group), lines_of_threads());
}

// Of shared memory with a name.
std::size_t segments() {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/dev/shm")) {
    count += entry.path().filename().string().starts_with("gradwire") ? 1 : 0;
  }
  return count;
}

TEST(FaultLevels, AKilledRankOfAHostIsNamedAndLeavesNoMemoryBehind) {
  constexpr std::size_t kVictim = 2;  // the first of its host, which has made the memory
  ProcessGroup group;
  start_tcp_ranks(group, kRanks, [](std::size_t) { return Lines{"levels", "--forever"}; });
  ASSERT_TRUE(group.wait_until(60s, [&] {
    for (std::size_t i = 0; i < kRanks; ++i) {
      if (group.out(i).find("step 2 done") == std::string::npos) return false;
    }
    return true;
  })) << group.err(0);
  group.send_signal(kVictim, SIGKILL);
  ASSERT_TRUE(group.wait_for_all(30s)) << "a rank hangs";
  for (std::size_t i = 0; i < kRanks; ++i) {
    if (i == kVictim) continue;
    EXPECT_EQ(group.exit_code(i), 1);
    EXPECT_NE(group.err(i).find("error: lost rank 2"), std::string::npos) << group.err(i);
  }
  EXPECT_EQ(segments(), 0u);
}

}  // namespace
}  // namespace gradwire
