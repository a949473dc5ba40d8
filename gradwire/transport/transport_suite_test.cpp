// Every transport under the same scenarios, for several numbers of ranks.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <ostream>
#include <string>

#include "gradwire/core/check.h"
#include "gradwire/transport/mpi.h"
#include "gradwire/transport/scenarios_test_support.h"
#include "gradwire/transport/tcp.h"
#include "gradwire/transport/test_support.h"

namespace gradwire {

void PrintTo(const TransportScenario& scenario, std::ostream* out) { *out << scenario.name; }

namespace {

constexpr std::size_t kSizes[] = {1, 2, 3, 4, 8};

std::string ranks_name(const testing::TestParamInfo<std::size_t>& info) {
  return "Ranks" + std::to_string(info.param);
}

std::string scenario_name(const testing::TestParamInfo<TransportScenario>& info) {
  return info.param.name;
}

class InProcessThreads : public testing::TestWithParam<TransportScenario> {};

TEST_P(InProcessThreads, Holds) {
  for (const std::size_t size : kSizes) {
    const auto transports = in_process_transports(size);
    EXPECT_NO_THROW(run_transports(
        transports, [&](Transport& transport) { run_scenario(GetParam(), transport); }));
  }
}

INSTANTIATE_TEST_SUITE_P(Scenario, InProcessThreads, testing::ValuesIn(transport_scenarios()),
                         scenario_name);

// A new directory that is gone afterwards: the ranks of a TCP group find one another in it.
class MeetingPoint {
 public:
  MeetingPoint() : path_(std::filesystem::temp_directory_path() / "gradwire-test-XXXXXX") {
    GW_CHECK(mkdtemp(path_.data()) != nullptr);
  }
  ~MeetingPoint() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

class Tcp : public testing::TestWithParam<std::size_t> {};

void expect_every_scenario_holds(std::size_t size, std::size_t streams,
                                 const SecurityOptions& security = {}) {
  const MeetingPoint meeting_point;
  std::vector<std::unique_ptr<Transport>> transports(size);
  run_ranks(size, [&](std::size_t rank) {
    transports[rank] = make_tcp_transport(
        {.meeting = {.rank = rank, .size = size, .directory = meeting_point.path()},
         .streams = streams,
         .security = security});
  });
  for (const TransportScenario& scenario : transport_scenarios()) {
    ASSERT_NO_THROW(run_transports(
        transports, [&](Transport& transport) { run_scenario(scenario, transport); }));
  }
}

TEST_P(Tcp, EveryScenarioHolds) { expect_every_scenario_holds(GetParam(), 1); }
TEST_P(Tcp, EveryScenarioHoldsWithThreeStreams) { expect_every_scenario_holds(GetParam(), 3); }

TEST_P(Tcp, EveryScenarioHoldsWithTls) {
  expect_every_scenario_holds(GetParam(), 1, {.secret = Secret::random()});
}

TEST_P(Tcp, EveryScenarioHoldsWithTlsAndThreeStreams) {
  expect_every_scenario_holds(GetParam(), 3, {.secret = Secret::random()});
}

INSTANTIATE_TEST_SUITE_P(Size, Tcp, testing::ValuesIn(kSizes), ranks_name);

struct Outcome {
  int exit_code;
  std::string output;
};

Outcome run_shell(const std::string& command) {
  std::FILE* const pipe = popen((command + " 2>&1").c_str(), "r");
  GW_CHECK(pipe != nullptr);
  std::string output;
  std::array<char, 4096> part;
  while (const std::size_t bytes = std::fread(part.data(), 1, part.size(), pipe)) {
    output.append(part.data(), bytes);
  }
  const int status = pclose(pipe);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, output};
}

// `channel` is what Open MPI moves bytes by: tcp, as between hosts, or vader, shared memory.
Outcome run_mpi_ranks(std::size_t size, const std::string& channel, const std::string& arguments) {
  // Open MPI leaks; that is not ours to report.
  return run_shell(
      "ASAN_OPTIONS=\"$ASAN_OPTIONS:detect_leaks=0\" timeout 300 mpirun"
      " --allow-run-as-root --oversubscribe --bind-to none"
      " --mca mpi_yield_when_idle 1 --mca btl " +
      channel + ",self" + " -n " + std::to_string(size) + " " GRADWIRE_RANKS_PROGRAM " " +
      arguments);
}

class Mpi : public testing::TestWithParam<std::size_t> {
  void SetUp() override {
    if (!has_mpi()) GTEST_SKIP() << "this build has no MPI";
    if (run_shell("command -v mpirun").exit_code != 0) {
      GTEST_SKIP() << "mpirun is not on the PATH";
    }
  }
};

TEST_P(Mpi, EveryScenarioHoldsOverTcp) {
  const Outcome outcome = run_mpi_ranks(GetParam(), "tcp", "transport");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
}

TEST_P(Mpi, EveryScenarioHoldsOverSharedMemory) {
  const Outcome outcome = run_mpi_ranks(GetParam(), "vader", "transport");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
}

INSTANTIATE_TEST_SUITE_P(Size, Mpi, testing::ValuesIn(kSizes), ranks_name);

}  // namespace
}  // namespace gradwire
