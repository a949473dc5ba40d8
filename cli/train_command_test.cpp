// Tests of train on small convex problems. Those of networks are in train_network_test.cpp.
#include <algorithm>

#include "cli/train_test_support.h"
#include "gradwire/transport/mpi.h"
#include "gtest/gtest.h"
#include "launch/exit_codes.h"
#include "record/checkpoint_directory.h"
#include "record/step_records.h"

namespace gradwire::cli {
namespace {

class Train : public TrainTest {
 protected:
  // train in threads of this process, into the test's own directory.
  Outcome train(const Names& more) const {
    Names arguments = {"train", "--out", out_, "--steps", "40"};
    if (std::ranges::find(more, "--model") == more.end()) {
      arguments.insert(arguments.end(), {"--model", "logistic"});
    }
    arguments.insert(arguments.end(), more.begin(), more.end());
    return gradwire(arguments);
  }

  void expect_wrong_usage(const Names& more, std::string_view what) const {
    expect_refused(train(more), what);
  }
};

using TrainThreads = Train;

TEST_F(TrainThreads, JsonIsTheRunRecordThatIsInTheDirectory) {
  const Outcome outcome = train({"--json", "--method", "diana(natural)", "--split", "label"});
  ASSERT_EQ(outcome.exit_code, kDone) << outcome.err;
  const Json run = outcome.json();
  EXPECT_EQ(
      fields(run),
      (Names{"method", "workers", "steps", "parameters", "start", "final", "bytes_up_per_worker",
             "bytes_down_per_worker", "message_bytes_per_worker", "uploads", "uploads_skipped",
             "poisoned", "model_hash", "seconds", "plans", "configuration", "version", "machine"}));
  EXPECT_EQ(run["method"], "diana(natural)");
  EXPECT_EQ(run["workers"], 4);
  EXPECT_EQ(run["steps"], 40);
  EXPECT_EQ(run["uploads"], 160);
  EXPECT_EQ(fields(run["final"]), (Names{"loss", "gap"}));
  EXPECT_LT(run["final"]["gap"], run["start"]["gap"]);
  EXPECT_GT(run["bytes_up_per_worker"], 0);
  EXPECT_EQ(Json::parse(read_text(out_ + "/run.json")), run);
  EXPECT_EQ(record::read_steps(out_ + "/steps.jsonl").size(), 40u);
}

TEST_F(TrainThreads, TableShowsTheGapOverStepsAndBits) {
  const Outcome outcome = train({"--method", "natural", "--model", "least-squares"});
  ASSERT_EQ(outcome.exit_code, kDone) << outcome.err;
  EXPECT_TRUE(contains(outcome.out, "step    f - f*")) << outcome.out;
  EXPECT_TRUE(contains(outcome.out,
                       "least-squares on generated (2,000 rows, 40 features), "
                       "natural with 4 workers (in-process, "))
      << outcome.out;
  EXPECT_TRUE(contains(outcome.out, "The run is in " + out_ + "\n")) << outcome.out;
  EXPECT_EQ(outcome.err, "");
}

TEST_F(TrainThreads, ReadsFilesWhateverTheirLabels) {
  const std::string path = directory_ / "data";
  write_text(path, "2 1:1\n1 1:-1 2:1\n2 2:0.5\n1 1:-0.5\n");
  const Outcome outcome = train({"--json", "--data", path, "--workers", "2", "--l1", "0.001"});
  ASSERT_EQ(outcome.exit_code, kDone) << outcome.err;
  EXPECT_EQ(outcome.json()["configuration"]["rows"], 4);
  EXPECT_EQ(outcome.json()["configuration"]["regulariser"], "l1(0.001)");

  write_text(path, "2 1:1\n1 1:-1\n3 1:1\n");
  const Outcome refused = train({"--overwrite", "--data", path});
  EXPECT_EQ(refused.exit_code, kFailed);
  EXPECT_EQ(refused.err,
            "gradwire: logistic regression tells two labels apart, and there are 3: 1, 2, 3\n");
}

TEST_F(TrainThreads, RunThatIsThereIsNotTouchedUnasked) {
  ASSERT_EQ(train({}).exit_code, kDone);
  const std::string before = read_text(out_ + "/run.json");
  const Outcome refused = train({});
  EXPECT_EQ(refused.exit_code, kWrongUsage);
  EXPECT_TRUE(contains(refused.err, "holds a run: give --resume to continue it")) << refused.err;
  EXPECT_EQ(read_text(out_ + "/run.json"), before);
  EXPECT_EQ(train({"--overwrite"}).exit_code, kDone);
}

TEST_F(TrainThreads, ResumedRunEndsWithTheSameModel) {
  const Names same = {"--json", "--method", "ef21(topk(20%))", "--batch", "10"};
  const auto with = [&](Names more) {
    more.insert(more.end(), same.begin(), same.end());
    return train(more);
  };
  const std::string hash = with({}).json()["model_hash"];
  Names first = {"train", "--model",     "logistic",           "--out", out_, "--steps",
                 "33",    "--overwrite", "--checkpoint-every", "10"};
  first.insert(first.end(), same.begin(), same.end());
  ASSERT_EQ(gradwire(first).exit_code, kDone);
  const Outcome resumed = with({"--resume"});
  ASSERT_EQ(resumed.exit_code, kDone) << resumed.err;
  EXPECT_EQ(resumed.json()["model_hash"], hash);
  EXPECT_EQ(resumed.json()["configuration"]["resumed_from"], 30);
  EXPECT_EQ(resumed.json()["uploads"], 160);
}

TEST_F(Train, CtrlCWritesACheckpointAndTheResumedRunEndsWithTheSameModel) {
  const std::string run = std::string(GRADWIRE_PROGRAM) +
                          " train --model logistic --workers 2 --method 'ef21(topk(20%))' "
                          "--batch 10 --out " +
                          out_;
  const Outcome stopped = in_a_process("setsid " + run + " --steps 100000000 & until [ -s " + out_ +
                                       "/steps.jsonl ]; do sleep 0.05; done; "
                                       "kill -INT -$!; wait $!");
  EXPECT_EQ(stopped.exit_code, launch::kStopped) << stopped.err;
  EXPECT_TRUE(contains(stopped.err, "stopped after step ")) << stopped.err;
  const auto checkpoints = record::whole_checkpoints(out_ + "/checkpoints");
  ASSERT_FALSE(checkpoints.empty());
  const std::string steps = " --json --steps " + std::to_string(checkpoints.back().step + 10);
  const Outcome resumed = in_a_process(run + steps + " --resume");
  ASSERT_EQ(resumed.exit_code, kDone) << resumed.err;
  EXPECT_EQ(resumed.json()["configuration"]["resumed_from"], checkpoints.back().step);
  const Outcome whole = in_a_process(run + steps + " --overwrite");
  ASSERT_EQ(whole.exit_code, kDone) << whole.err;
  EXPECT_EQ(resumed.json()["model_hash"], whole.json()["model_hash"]);
}

TEST_F(TrainThreads, RunThatCannotStartLeavesTheOldOneAlone) {
  ASSERT_EQ(train({}).exit_code, kDone);
  const std::string before = read_text(out_ + "/steps.jsonl");
  const Outcome resumed = train({"--resume", "--seed", "2"});
  EXPECT_EQ(resumed.exit_code, kFailed);
  EXPECT_TRUE(contains(resumed.err, "has no checkpoint to resume from")) << resumed.err;
  expect_refused(train({"--method", "ef(topk(10%))", "--topology", "ring", "--overwrite"}),
                 "topology ring");
  EXPECT_EQ(read_text(out_ + "/steps.jsonl"), before);
}

TEST_F(TrainThreads, FinishedRunIsNotDoneAgain) {
  ASSERT_EQ(train({}).exit_code, kDone);
  const std::string before = read_text(out_ + "/run.json");
  const Outcome resumed = train({"--resume", "--json"});
  EXPECT_EQ(resumed.exit_code, kDone) << resumed.err;
  EXPECT_EQ(resumed.json(), Json::parse(before));
  EXPECT_EQ(read_text(out_ + "/run.json"), before);
}

TEST_F(TrainThreads, ResumingAnotherRunIsRefusedWithWhatDiffers) {
  ASSERT_EQ(train({"--checkpoint-every", "20"}).exit_code, kDone);
  const Outcome outcome = train({"--resume", "--seed", "2"});
  EXPECT_EQ(outcome.exit_code, kFailed);
  EXPECT_TRUE(contains(outcome.err, "is of another run: ") &&
              contains(outcome.err, "seed was 1 and is 2"))
      << outcome.err;
}

TEST_F(TrainThreads, EverySplitAndTopologyRuns) {
  for (const char* split : {"iid", "label", "dirichlet(0.01)"}) {
    const Outcome outcome = train({"--json", "--overwrite", "--split", split, "--workers", "6"});
    EXPECT_EQ(outcome.exit_code, kDone) << outcome.err;
  }
  for (const char* topology : {"scatter", "server", "gather", "ring"}) {
    const Outcome outcome = train({"--json", "--overwrite", "--topology", topology});
    ASSERT_EQ(outcome.exit_code, kDone) << outcome.err;
    EXPECT_EQ(outcome.json()["configuration"]["topology"], topology);
  }
  const Outcome outcome =
      train({"--json", "--overwrite", "--topology", "server", "--dedicated-server"});
  EXPECT_EQ(outcome.exit_code, kDone) << outcome.err;
}

TEST_F(Train, WrongUsageIsSaid) {
  expect_wrong_usage({"--model", "linear"}, "there is no model called 'linear'");
  expect_wrong_usage({"--epochs", "3"}, "--epochs is for networks, not for logistic");
  expect_wrong_usage({"--l2", "L*100"}, "'L*100' is not a strength");
  expect_wrong_usage({"--step", "fast"}, "'fast' is not a step size");
  expect_wrong_usage({"--l1", "1", "--regulariser", "l2(1)"}, " excludes --");
  expect_wrong_usage({"--batch", "3", "--full-batch"}, " excludes --");
  expect_wrong_usage({"--overwrite", "--resume"}, " excludes --");
  expect_wrong_usage({"--server", "1"}, "--server is for --topology server");
  expect_wrong_usage({"--method", "diana(naturl)"},
                     "did you mean 'natural'?\n  diana(naturl)\n        ^\n");
  expect_wrong_usage({"--split", "labels"}, "did you mean 'label'?\n  labels\n  ^\n");
  expect_wrong_usage({"--regulariser", "l3(1)"}, "there is no regulariser called 'l3'");
  EXPECT_FALSE(std::filesystem::exists(out_));
}

TEST_F(Train, MissingFileIsAFailure) {
  const Outcome outcome = train({"--data", directory_ / "absent"});
  EXPECT_EQ(outcome.exit_code, kFailed);
  EXPECT_TRUE(contains(outcome.err, "absent: cannot be opened")) << outcome.err;
}

TEST_F(Train, ThreadsProcessesAndMpiGiveTheSameModel) {
  const std::string call =
      std::string(GRADWIRE_PROGRAM) +
      " train --model logistic --json --overwrite --steps 30 --method 'diana(natural)' "
      "--split label --workers 3 --batch 7 --out " +
      out_;
  const Outcome threads = in_a_process(call);
  ASSERT_EQ(threads.exit_code, kDone) << threads.err;
  const Outcome processes = in_a_process(call + " --transport tcp");
  ASSERT_EQ(processes.exit_code, kDone) << processes.err;
  EXPECT_EQ(processes.json()["model_hash"], threads.json()["model_hash"]);
  EXPECT_EQ(processes.json()["configuration"]["transport"], "tcp");
  if (!has_mpi()) GTEST_SKIP() << "built without MPI";
  const Outcome mpi = in_a_process(mpirun(3) + call);
  ASSERT_EQ(mpi.exit_code, kDone) << mpi.err;
  EXPECT_EQ(mpi.json()["model_hash"], threads.json()["model_hash"]);
}

TEST_F(Train, DirectoryIsNamedAfterTheRun) {
  const std::string call = "cd " + (directory_ / ".").string() +
                           " && " GRADWIRE_PROGRAM
                           " train --model logistic --steps 2 --method 'topk(10%) | natural'";
  const Outcome outcome = in_a_process(call);
  ASSERT_EQ(outcome.exit_code, kDone) << outcome.err;
  EXPECT_TRUE(std::filesystem::exists(directory_ /
                                      "runs/logistic-generated-topk-10%-natural-steps2/run.json"));
}

TEST(Compare, RepeatsAllMethodsWithSeveralSeeds) {
  const TestDirectory directory;
  const Outcome outcome = gradwire({"compare", "--model", "logistic", "--data", "generated",
                                    "--workers", "2", "--steps", "20", "--methods", "none; natural",
                                    "--seeds", "3", "--out", (directory / "compare").string()});
  EXPECT_EQ(outcome.exit_code, kDone) << outcome.err;
  EXPECT_TRUE(contains(outcome.out, "Mean and standard deviation over 3 seeds:")) << outcome.out;
  EXPECT_TRUE(std::filesystem::exists(directory / "compare" / "natural-seed3" / "run.json"));
  EXPECT_TRUE(std::filesystem::exists(directory / "compare" / "none-seed1" / "run.json"));
}

}  // namespace
}  // namespace gradwire::cli
