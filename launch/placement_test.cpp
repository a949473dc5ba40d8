#include "launch/placement.h"

#include <map>

#include "gradwire/core/usage_error.h"
#include "gradwire/file/test_directory.h"
#include "gtest/gtest.h"

namespace gradwire::launch {
namespace {

using Variables = std::map<std::string, std::string>;

Environment with(const Variables& variables) {
  return [&](const char* variable) -> const char* {
    const auto found = variables.find(variable);
    return found == variables.end() ? nullptr : found->second.c_str();
  };
}

Placement placement(const WorkersAsked& asked, const Variables& variables) {
  return find_placement(asked, with(variables));
}

std::string refusal(const WorkersAsked& asked, const Variables& variables) {
  return message_of<UsageError>([&] { placement(asked, variables); });
}

const TransportEntry* const kInProcess = find_transport("in-process");
const TransportEntry* const kTcp = find_transport("tcp");
const TransportEntry* const kMpi = find_transport("mpi");

const Variables kNothing;
const Variables kMpirun = {{"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "2"}};
const Variables kFour = {
    {"RANK", "3"}, {"WORLD_SIZE", "4"}, {"MASTER_ADDR", "10.0.0.1"}, {"MASTER_PORT", "29500"}};

TEST(Placement, AloneAllWorkersAreThreads) {
  EXPECT_EQ(placement({}, {}).role, Role::all_workers);
  EXPECT_EQ(placement({}, {}).transport, kInProcess);
  EXPECT_EQ(placement({}, {}).size, kWorkersDefault);
  EXPECT_EQ(placement({.workers = 5}, {}).size, 5u);
  EXPECT_TRUE(placement({}, {}).reports());
}

TEST(Placement, AloneWithTcpStartsProcesses) {
  const Placement starter = placement({.transport = kTcp, .workers = 3}, {});
  EXPECT_EQ(starter.role, Role::starter);
  EXPECT_EQ(starter.size, 3u);
}

TEST(Placement, AloneMpiSaysHowToStartIt) {
  EXPECT_TRUE(refusal({.transport = kMpi}, {}).ends_with("'mpirun -n 4 gradwire ...'"));
}

TEST(Placement, MpirunGivesRankAndSize) {
  for (const Variables& variables : {kMpirun, Variables{{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}}}) {
    const Placement worker = placement({}, variables);
    EXPECT_EQ(worker.role, Role::one_worker);
    EXPECT_EQ(worker.transport, kMpi);
    EXPECT_EQ(worker.rank, 1u);
    EXPECT_EQ(worker.size, 2u);
    EXPECT_FALSE(worker.reports());
  }
}

TEST(Placement, FourVariablesGiveAPlaceByTcp) {
  const Placement worker = placement({}, kFour);
  EXPECT_EQ(worker.role, Role::one_worker);
  EXPECT_EQ(worker.transport, kTcp);
  EXPECT_EQ(worker.rank, 3u);
  EXPECT_EQ(worker.size, 4u);
  EXPECT_EQ(worker.master_host, "10.0.0.1");
  EXPECT_EQ(worker.master_port, 29500);
}

TEST(Placement, PortOfTorchrunsAgentIsLeftToIt) {
  Variables variables = kFour;
  variables["TORCHELASTIC_USE_AGENT_STORE"] = "True";
  EXPECT_EQ(placement({}, variables).master_port, 29501);
  variables["TORCHELASTIC_USE_AGENT_STORE"] = "False";
  EXPECT_EQ(placement({}, variables).master_port, 29500);
}

TEST(Placement, MpirunMayStartProcessesThatMeetByTcp) {
  Variables variables = kMpirun;
  variables.insert(kFour.begin(), kFour.end());
  EXPECT_EQ(placement({}, variables).transport, kMpi);
  EXPECT_EQ(placement({.transport = kTcp}, variables).size, 4u);
}

const Variables kSrun = {{"SLURM_PROCID", "2"},
                         {"SLURM_NTASKS", "4"},
                         {"SLURM_STEP_ID", "0"},
                         {"SLURM_JOB_ID", "77"},
                         {"SLURM_JOB_NODELIST", "gpu[07-10]"}};

TEST(Placement, TaskOfSrunMeetsTheOthersAtTheFirstHost) {
  const Placement worker = placement({}, kSrun);
  EXPECT_EQ(worker.role, Role::one_worker);
  EXPECT_EQ(worker.transport, kTcp);
  EXPECT_EQ(worker.rank, 2u);
  EXPECT_EQ(worker.size, 4u);
  EXPECT_EQ(worker.master_host, "gpu07");
  EXPECT_GE(worker.master_port, 20000);
  EXPECT_NE(worker.run_key, 0u);
  Variables next = kSrun;
  next["SLURM_STEP_ID"] = "1";
  EXPECT_NE(placement({}, next).run_key, worker.run_key) << "another step is another run";
}

TEST(Placement, ThreeVariablesOfSlurmAreEnough) {
  const Placement worker =
      placement({}, {{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}, {"SLURM_JOB_NODELIST", "a,b"}});
  EXPECT_EQ(worker.role, Role::one_worker);
  EXPECT_EQ(worker.size, 4u);
  EXPECT_EQ(worker.master_host, "a");
  EXPECT_TRUE(refusal({}, {{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}})
                  .ends_with("set MASTER_ADDR to the host of rank 0"));
}

TEST(Placement, UserMayNameTheMeetingPointOfASlurmJob) {
  Variables variables = kSrun;
  variables["MASTER_ADDR"] = "10.1.1.1";
  variables["MASTER_PORT"] = "4000";
  EXPECT_EQ(placement({}, variables).master_host, "10.1.1.1");
  EXPECT_EQ(placement({}, variables).master_port, 4000);
}

TEST(Placement, StepOfSrunMayHaveFewerTasksThanTheJob) {
  Variables variables = kSrun;
  variables["SLURM_STEP_NUM_TASKS"] = "3";
  variables["SLURM_STEP_NODELIST"] = "gpu[08-10]";
  EXPECT_EQ(placement({}, variables).size, 3u);
  EXPECT_EQ(placement({}, variables).master_host, "gpu08");
  variables["SLURM_STEP_NUM_TASKS"] = "1";
  variables["SLURM_PROCID"] = "0";
  EXPECT_EQ(placement({}, variables).role, Role::all_workers) << "one task may run all workers";
}

TEST(Placement, SlurmJobWithoutSrunIsNotARankByChance) {
  Variables batch = kSrun;
  batch.erase("SLURM_STEP_ID");
  batch["SLURM_PROCID"] = "0";
  EXPECT_EQ(refusal({}, batch),
            "this Slurm job has 4 tasks, and srun did not start this command: write 'srun gradwire "
            "...' to run one worker in each task, or add --transport in-process to run all workers "
            "here");
  EXPECT_EQ(placement({.transport = kInProcess}, batch).role, Role::all_workers);
  EXPECT_EQ(placement({.transport = kTcp}, batch).role, Role::starter);
  batch.erase("SLURM_PROCID");  // as in the shell of salloc
  EXPECT_TRUE(refusal({}, batch).starts_with("this Slurm job has 4 tasks"));
  EXPECT_EQ(placement({.workers = 2}, batch).role, Role::all_workers);
}

TEST(Placement, SrunWithPmi2StillMeansTcpUnlessMpiIsAskedFor) {
  Variables variables = kSrun;
  variables["PMI_RANK"] = "2";
  variables["PMI_SIZE"] = "4";
  EXPECT_EQ(placement({}, variables).transport, kTcp);
  EXPECT_EQ(placement({.transport = kMpi}, variables).transport, kMpi);
  EXPECT_EQ(placement({.transport = kMpi}, kSrun).transport, kMpi);
}

TEST(Placement, TorchrunWithinSlurmDecides) {
  Variables variables = kSrun;
  variables.insert(kFour.begin(), kFour.end());
  EXPECT_EQ(placement({}, variables).rank, 3u);
}

TEST(Placement, ThreadsInEveryTaskOfSrunWouldBeUnconnectedRuns) {
  EXPECT_EQ(refusal({.transport = kInProcess}, kSrun),
            "--transport in-process contradicts Slurm: the workers use tcp");
  EXPECT_EQ(refusal({.workers = 2}, kSrun),
            "--workers 2 contradicts Slurm: the number of workers is 4");
}

TEST(Placement, ContradictionsAreWrongUsage) {
  EXPECT_EQ(refusal({.workers = 4}, kMpirun),
            "--workers 4 contradicts mpirun: the number of workers is 2");
  EXPECT_EQ(refusal({.transport = kTcp}, kMpirun),
            "--transport tcp contradicts mpirun: the workers use mpi");
  EXPECT_EQ(refusal({.transport = kInProcess}, kFour),
            "--transport in-process contradicts RANK and WORLD_SIZE in the environment: the "
            "workers use tcp");
  EXPECT_EQ(refusal({.workers = 2}, kFour),
            "--workers 2 contradicts RANK and WORLD_SIZE in the environment: the number of workers "
            "is 4");
}

TEST(Placement, HalfAnEnvironmentIsRefused) {
  EXPECT_EQ(refusal({}, {{"RANK", "0"}, {"MASTER_ADDR", "a"}, {"WORLD_SIZE", ""}}),
            "the environment has RANK, MASTER_ADDR but not WORLD_SIZE, MASTER_PORT: set all of "
            "them, or none");
  EXPECT_EQ(placement({}, {{"MASTER_ADDR", "a"}}).role, Role::all_workers);
}

TEST(Placement, NumbersAreCheckedAgainstOneAnother) {
  Variables variables = kFour;
  variables["RANK"] = "4";
  EXPECT_EQ(refusal({}, variables), "RANK=4 in the environment is not a whole number from 0 to 3");
  variables = kFour;
  variables["MASTER_PORT"] = "70000";
  EXPECT_EQ(refusal({}, variables),
            "MASTER_PORT=70000 in the environment is not a whole number from 1 to 65535");
}

TEST(WorkersOnHost, AreThoseThatTheEnvironmentNamesOrAll) {
  const Placement worker = placement({}, kFour);
  EXPECT_EQ(workers_on_host(worker, with(kNothing)), 4u);
  const Variables torchrun = {{"LOCAL_WORLD_SIZE", "2"}};
  EXPECT_EQ(workers_on_host(worker, with(torchrun)), 2u);
  EXPECT_EQ(workers_on_host(placement({.workers = 3}, {}), with(torchrun)), 3u) << "all are here";
  const Variables mpirun = {{"LOCAL_WORLD_SIZE", "two"}, {"OMPI_COMM_WORLD_LOCAL_SIZE", "1"}};
  EXPECT_EQ(workers_on_host(worker, with(mpirun)), 1u);
  const Variables srun = {{"SLURM_STEP_TASKS_PER_NODE", "3(x2),1"}, {"SLURM_NODEID", "1"}};
  EXPECT_EQ(workers_on_host(worker, with(srun)), 3u);
}

}  // namespace
}  // namespace gradwire::launch
