#include "cli/worker_place.h"

#include <map>

#include "cli/commands.h"
#include "gradwire/file/test_directory.h"
#include "gtest/gtest.h"

namespace gradwire::cli {
namespace {

using Variables = std::map<std::string, std::string>;

WorkerPlace place(const WorkersAsked& asked, const Variables& variables) {
  return find_worker_place(asked, [&](const char* variable) -> const char* {
    const auto found = variables.find(variable);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

std::string refusal(const WorkersAsked& asked, const Variables& variables) {
  return message_of<UsageError>([&] { place(asked, variables); });
}

const Variables kMpirun = {{"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "2"}};
const Variables kFour = {
    {"RANK", "3"}, {"WORLD_SIZE", "4"}, {"MASTER_ADDR", "10.0.0.1"}, {"MASTER_PORT", "29500"}};

TEST(WorkerPlace, AloneAllWorkersAreThreads) {
  EXPECT_EQ(place({}, {}).role, Role::all_workers);
  EXPECT_EQ(place({}, {}).transport, TransportKind::in_process);
  EXPECT_EQ(place({}, {}).size, kWorkersDefault);
  EXPECT_EQ(place({.workers = 5}, {}).size, 5u);
  EXPECT_TRUE(place({}, {}).reports());
}

TEST(WorkerPlace, AloneWithGlooStartsProcesses) {
  const WorkerPlace starter = place({.transport = TransportKind::gloo, .workers = 3}, {});
  EXPECT_EQ(starter.role, Role::starter);
  EXPECT_EQ(starter.size, 3u);
}

TEST(WorkerPlace, AloneMpiSaysHowToStartIt) {
  EXPECT_TRUE(
      refusal({.transport = TransportKind::mpi}, {}).ends_with("'mpirun -n 4 gradwire ...'"));
}

TEST(WorkerPlace, MpirunGivesRankAndSize) {
  for (const Variables& variables : {kMpirun, Variables{{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}}}) {
    const WorkerPlace worker = place({}, variables);
    EXPECT_EQ(worker.role, Role::one_worker);
    EXPECT_EQ(worker.transport, TransportKind::mpi);
    EXPECT_EQ(worker.rank, 1u);
    EXPECT_EQ(worker.size, 2u);
    EXPECT_FALSE(worker.reports());
  }
}

TEST(WorkerPlace, FourVariablesGiveAPlaceByTcp) {
  const WorkerPlace worker = place({}, kFour);
  EXPECT_EQ(worker.role, Role::one_worker);
  EXPECT_EQ(worker.transport, TransportKind::gloo);
  EXPECT_EQ(worker.rank, 3u);
  EXPECT_EQ(worker.size, 4u);
  EXPECT_EQ(worker.master_host, "10.0.0.1");
  EXPECT_EQ(worker.master_port, 29500);
}

TEST(WorkerPlace, PortOfTorchrunsAgentIsLeftToIt) {
  Variables variables = kFour;
  variables["TORCHELASTIC_USE_AGENT_STORE"] = "True";
  EXPECT_EQ(place({}, variables).master_port, 29501);
  variables["TORCHELASTIC_USE_AGENT_STORE"] = "False";
  EXPECT_EQ(place({}, variables).master_port, 29500);
}

TEST(WorkerPlace, MpirunMayStartProcessesThatMeetByTcp) {
  Variables variables = kMpirun;
  variables.insert(kFour.begin(), kFour.end());
  EXPECT_EQ(place({}, variables).transport, TransportKind::mpi);
  EXPECT_EQ(place({.transport = TransportKind::gloo}, variables).size, 4u);
}

TEST(WorkerPlace, ContradictionsAreWrongUsage) {
  EXPECT_EQ(refusal({.workers = 4}, kMpirun),
            "--workers 4 contradicts mpirun: the number of workers is 2");
  EXPECT_EQ(refusal({.transport = TransportKind::gloo}, kMpirun),
            "--transport gloo contradicts mpirun: the workers meet by mpi");
  EXPECT_EQ(refusal({.transport = TransportKind::in_process}, kFour),
            "--transport in-process contradicts RANK and WORLD_SIZE in the environment: the "
            "workers meet by gloo");
  EXPECT_EQ(refusal({.workers = 2}, kFour),
            "--workers 2 contradicts RANK and WORLD_SIZE in the environment: the number of workers "
            "is 4");
}

TEST(WorkerPlace, HalfAnEnvironmentIsRefused) {
  EXPECT_EQ(refusal({}, {{"RANK", "0"}, {"MASTER_ADDR", "a"}, {"WORLD_SIZE", ""}}),
            "the environment has RANK, MASTER_ADDR but not WORLD_SIZE, MASTER_PORT: set all of "
            "them, or none");
  EXPECT_EQ(place({}, {{"MASTER_ADDR", "a"}}).role, Role::all_workers);
}

TEST(WorkerPlace, NumbersAreCheckedAgainstOneAnother) {
  Variables variables = kFour;
  variables["RANK"] = "4";
  EXPECT_EQ(refusal({}, variables), "RANK=4 in the environment is no whole number from 0 to 3");
  variables = kFour;
  variables["MASTER_PORT"] = "70000";
  EXPECT_EQ(refusal({}, variables),
            "MASTER_PORT=70000 in the environment is no whole number from 1 to 65535");
}

}  // namespace
}  // namespace gradwire::cli
