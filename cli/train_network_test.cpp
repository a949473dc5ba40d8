// Tests of train and compare on small networks: the real program, in threads and in processes.
#include <signal.h>

#include <algorithm>

#include "cli/train_test_support.h"
#include "gradwire/core/random.h"
#include "gradwire/transport/mpi.h"
#include "gtest/gtest.h"
#include "launch/exit_codes.h"
#include "record/checkpoint_directory.h"
#include "record/step_records.h"

namespace gradwire::cli {
namespace {

class TrainNetwork : public TrainTest {
 protected:
  Outcome call(Names arguments, const Names& more) const {
    for (const char* word : {"--model", "mlp(hidden=16)", "--data", "generated", "--batch", "16",
                             "--threads", "1", "--out", out_.c_str()}) {
      arguments.emplace_back(word);
    }
    arguments.insert(arguments.end(), more.begin(), more.end());
    return gradwire(arguments);
  }
  Outcome train(const Names& more) const { return call({"train"}, more); }
  Outcome run_until(const std::string& call, std::size_t lines, unsigned more_ms) const;
  void kill_at_random_moments(const std::string& method) const;

  // The same as a shell's command.
  std::string command(const std::string& more) const {
    return std::string(GRADWIRE_PROGRAM) +
           " train --model 'mlp(hidden=16)' --data generated --batch 16 --threads 1 --out " + out_ +
           " " + more;
  }
};

using TrainNetworkThreads = TrainNetwork;

TEST_F(TrainNetworkThreads, LeavesItsRecordAPageAndTheModel) {
  const Outcome outcome = train({"--steps", "20", "--method", "natural", "--json"});
  ASSERT_EQ(outcome.exit_code, kDone) << outcome.err;
  const Json run = outcome.json();
  EXPECT_EQ(run["method"], "natural");
  EXPECT_EQ(run["parameters"], 784 * 16 + 16 + 16 * 10 + 10);
  EXPECT_GT(run["final"]["accuracy"], 0);
  EXPECT_EQ(run["configuration"]["optimiser"], "sgd");
  EXPECT_EQ(Json::parse(read_text(out_ + "/run.json")), run);
  const auto steps = record::read_steps(out_ + "/steps.jsonl");
  ASSERT_EQ(steps.size(), 20u);
  EXPECT_TRUE(steps[3].metrics.accuracy);  // a fifth of the run
  EXPECT_FALSE(steps[4].metrics.accuracy);
  EXPECT_TRUE(contains(read_text(out_ + "/report.html"), "<html"));
  EXPECT_TRUE(std::filesystem::exists(out_ + "/model"));
}

TEST_F(TrainNetworkThreads, EventFilesAreWrittenWhereTheyAreAskedFor) {
  const std::string board = directory_ / "board";
  ASSERT_EQ(train({"--steps", "5", "--tensorboard", board}).exit_code, kDone);
  const std::filesystem::directory_iterator files(board);
  const std::string events = read_text(files->path());
  for (const char* tag : {"train/loss", "test/accuracy", "gradwire/ratio", "gradwire/exchange_ms"})
    EXPECT_TRUE(contains(events, tag)) << tag;
}

TEST_F(TrainNetworkThreads, CompareWritesEventFilesOfEveryRunByItself) {
  const std::string board = directory_ / "board";
  const Outcome outcome = call({"compare", "--methods", "none", "--methods", "natural"},
                               {"--steps", "2", "--tensorboard", board});
  ASSERT_EQ(outcome.exit_code, kDone) << outcome.err;
  EXPECT_FALSE(std::filesystem::is_empty(board + "/none"));
  EXPECT_FALSE(std::filesystem::is_empty(board + "/natural"));
}

TEST_F(TrainNetworkThreads, TableShowsLossAccuracyAndBytes) {
  const Outcome outcome = train({"--steps", "5"});
  ASSERT_EQ(outcome.exit_code, kDone) << outcome.err;
  for (const char* part :
       {"test loss", "accuracy", "12,730 parameters", "none with 4 workers", "The page is "}) {
    EXPECT_TRUE(contains(outcome.out, part)) << part << "\n" << outcome.out;
  }
}

TEST_F(TrainNetworkThreads, CompareShowsMethodsSideBySide) {
  const Outcome outcome =
      call({"compare", "--methods", "none", "--methods", "natural"}, {"--steps", "5", "--json"});
  ASSERT_EQ(outcome.exit_code, kDone) << outcome.err;
  const Json runs = outcome.json()["runs"];
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[0]["directory"], "none");
  EXPECT_NEAR(runs[0]["compression_ratio"], 1, 0.02);
  EXPECT_NEAR(runs[1]["compression_ratio"], 3.5, 0.1);
  EXPECT_GT(runs[1]["predicted_step_ms"]["1 Gbit/s"], 0);
  EXPECT_EQ(Json::parse(read_text(out_ + "/compare.json")), outcome.json());
  EXPECT_TRUE(contains(read_text(out_ + "/report.html"), "natural"));
  EXPECT_TRUE(std::filesystem::exists(out_ + "/natural/run.json"));

  // What is there is not done again, and what is missing is.
  std::filesystem::remove_all(out_ + "/natural");
  const std::string before = read_text(out_ + "/none/run.json");
  const Outcome resumed = call({"compare", "--methods", "none", "--methods", "natural"},
                               {"--steps", "5", "--json", "--resume"});
  ASSERT_EQ(resumed.exit_code, kDone) << resumed.err;
  EXPECT_EQ(read_text(out_ + "/none/run.json"), before);
  EXPECT_EQ(resumed.json()["runs"][1]["model_hash"], runs[1]["model_hash"]);
}

TEST_F(TrainNetworkThreads, CompareShowsConvexRunsToo) {
  const Outcome outcome = gradwire({"compare", "--model", "logistic", "--steps", "5", "--out", out_,
                                    "--methods", "none", "--methods", "diana(natural)"});
  ASSERT_EQ(outcome.exit_code, kDone) << outcome.err;
  EXPECT_TRUE(contains(outcome.out, "f - f*") && contains(outcome.out, "diana(natural)"))
      << outcome.out;
}

TEST_F(TrainNetworkThreads, WhatAMethodForbidsIsRefusedWithTheReason) {
  const Outcome outcome =
      train({"--steps", "5", "--method", "sasg(topk(1%))", "--optimiser", "sgd(momentum=0.9)"});
  EXPECT_EQ(outcome.exit_code, kWrongUsage);
  EXPECT_TRUE(contains(outcome.err, "gives an update")) << outcome.err;
  EXPECT_FALSE(std::filesystem::exists(out_));
}

// How many ranks are late depends on the machine, and may be none.
void expect_late_ranks_agree(const std::string& out) {
  const Json run = Json::parse(read_text(out + "/run.json"));
  EXPECT_EQ(run["configuration"]["grace"], 0.5);
  std::vector<std::uint64_t> late(4);
  for (const record::StepRecord& step : record::read_steps(out + "/steps.jsonl")) {
    for (const std::size_t rank : step.late) ++late.at(rank);
  }
  EXPECT_EQ(run.value("late", std::vector<std::uint64_t>(4)), late);
}

TEST_F(TrainNetworkThreads, LateRanksAreRecordedAndTheRunResumes) {
  const Names grace = {"--method", "ef(topk(10%))", "--grace", "50%"};
  Names first = grace;
  first.insert(first.end(), {"--steps", "40", "--checkpoint-every", "20"});
  ASSERT_EQ(train(first).exit_code, kDone);
  expect_late_ranks_agree(out_);
  Names more = grace;
  more.insert(more.end(), {"--steps", "80", "--resume"});
  const Outcome resumed = train(more);
  ASSERT_EQ(resumed.exit_code, kDone) << resumed.err;
  expect_late_ranks_agree(out_);
  EXPECT_EQ(record::read_steps(out_ + "/steps.jsonl").size(), 80u);
}

TEST_F(TrainNetwork, LateRanksAreRecordedByProcesses) {
  const Outcome outcome = in_a_process(
      command("--transport tcp --workers 4 --steps 60 --method 'ef(topk(10%) | natural)' "
              "--grace 50% --slow-rank 3:4"));
  ASSERT_EQ(outcome.exit_code, kDone) << outcome.err;
  expect_late_ranks_agree(out_);
}

TEST_F(TrainNetwork, LateHostsAreRecordedByProcesses) {
  const Outcome outcome =
      in_a_process(command("--transport tcp --workers 4 --hosts 2 --steps 60 "
                           "--method 'ef(topk(10%) | natural)' --grace 50% --slow-rank 2:4"));
  ASSERT_EQ(outcome.exit_code, kDone) << outcome.err;
  expect_late_ranks_agree(out_);
  for (const record::StepRecord& step : record::read_steps(out_ + "/steps.jsonl")) {
    EXPECT_EQ(step.late.size() % 2, 0u) << step.step;
  }
}

TEST_F(TrainNetworkThreads, GraceIsRefusedWithTheReason) {
  const auto refusal = [this](const Names& more) {
    Names arguments = {"--steps", "5", "--grace", "75%"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Outcome outcome = train(arguments);
    EXPECT_EQ(outcome.exit_code, kWrongUsage);
    return outcome.err;
  };
  EXPECT_TRUE(contains(refusal({"--method", "natural"}), "no error memory"));
  EXPECT_TRUE(contains(refusal({"--method", "sasg(topk(1%), down=natural)"}), "use down=none"));
  EXPECT_TRUE(contains(refusal({"--method", "ef(topk(1%))", "--topology", "gather"}),
                       "the topology gather has no owners, use scatter, server"));
}

TEST_F(TrainNetworkThreads, WhatACodeDoesIsSaidAndRecorded) {
  const std::string spec = "lgc(ring, full=2, sparse=4, error=9, refresh=5)";
  const Outcome outcome = train({"--steps", "20", "--method", spec});
  ASSERT_EQ(outcome.exit_code, kDone) << outcome.err;
  EXPECT_TRUE(contains(outcome.err, "step 6: The code is used from now on")) << outcome.err;
  EXPECT_TRUE(contains(outcome.out, "A step by the code sent ")) << outcome.out;
  const Json code = Json::parse(read_text(out_ + "/run.json"))["code"];
  EXPECT_EQ(code["phases"], (Json{{"full", 2}, {"sparse", 4}, {"coded", 14}}));
  std::uint64_t parts = 0;
  for (const auto& [name, bytes] : code["parts"].items()) parts += bytes.get<std::uint64_t>();
  const auto steps = record::read_steps(out_ + "/steps.jsonl");
  std::uint64_t sent = 0;
  for (const record::StepRecord& step : steps) sent += step.traffic.bytes_sent;
  EXPECT_NEAR(static_cast<double>(parts), static_cast<double>(sent), 100);  // means are rounded
  const auto values_in = [&](std::size_t step) {
    const auto& rows = steps[step].note->rows;
    const NoteValue name = std::string("values");
    return std::get<std::uint64_t>(
        (*std::ranges::find_if(rows, [&](const auto& row) { return row[0] == name; }))[1]);
  };
  std::size_t refreshes = 0;  // the code goes on learning
  for (std::size_t step = 6; step < steps.size(); ++step) {
    EXPECT_EQ(values_in(step) > 0, !std::get<bool>(steps[step].note->get("is_estimate"))) << step;
    refreshes += values_in(step) > 0 ? 1 : 0;
  }
  EXPECT_GE(refreshes, 1u);
  EXPECT_LE(refreshes, 2u);
}

TEST_F(TrainNetworkThreads, ACodeThatWasHardlyOrNeverUsedIsSaid) {
  const std::string spec = "lgc(ring, full=2, sparse=4, error=9)";
  const Outcome once = train({"--steps", "7", "--method", spec});
  ASSERT_EQ(once.exit_code, kDone) << once.err;
  EXPECT_TRUE(contains(once.out, "A step by the code sent ")) << once.out;
  const Outcome never = train({"--steps", "5", "--method", spec, "--overwrite"});
  ASSERT_EQ(never.exit_code, kDone) << never.err;
  EXPECT_TRUE(contains(never.out, "3 steps with exact values were not enough")) << never.out;
}

TEST_F(TrainNetworkThreads, ADivergedRunIsAFailureThatSaysSo) {
  const Outcome outcome = train({"--steps", "30", "--lr", "1e30"});
  EXPECT_EQ(outcome.exit_code, kFailed);
  EXPECT_TRUE(contains(outcome.err, "diverged")) << outcome.err;
}

TEST_F(TrainNetwork, GradientsAreRecordedByThreadsAndProcessesAlike) {
  const std::string run = command("--json --overwrite --workers 2 --steps 4 --method natural ");
  const Outcome without = in_a_process(run);
  ASSERT_EQ(without.exit_code, kDone) << without.err;
  EXPECT_FALSE(std::filesystem::exists(out_ + "/gradients"));
  Names files[2];
  for (const int processes : {0, 1}) {
    const Outcome with =
        in_a_process(run + "--record-gradients 0,3" + (processes ? " --transport tcp" : ""));
    ASSERT_EQ(with.exit_code, kDone) << with.err;
    EXPECT_EQ(with.json()["model_hash"], without.json()["model_hash"]);
    for (const char* name : {"shapes.json", "step0000_worker0.f32", "step0000_worker1.f32",
                             "step0003_worker0.f32", "step0003_worker1.f32"}) {
      files[processes].push_back(read_text(out_ + "/gradients/" + name));
    }
    EXPECT_EQ(files[processes][1].size(), 4u * 12'730);
  }
  EXPECT_EQ(files[0], files[1]);
  ASSERT_EQ(in_a_process(run).exit_code, kDone);  // what is replaced is not taken for this run's
  EXPECT_FALSE(std::filesystem::exists(out_ + "/gradients"));
}

TEST_F(TrainNetwork, WrongUsageIsSaid) {
  expect_refused(train({"--record-gradients", "some"}), "expected steps such as 0,50,300");
  expect_refused(train({"--steps", "5", "--record-gradients", "0,5"}), "the last of 5 steps is 4");
  expect_refused(gradwire({"train", "--model", "logistic", "--record-gradients", "0"}),
                 "--record-gradients is for networks, not for logistic");
  expect_refused(train({"--l2", "1"}), "--l2 is for logistic and least-squares");
  expect_refused(train({"--steps", "1", "--epochs", "1"}), "give one of them");
  expect_refused(train({"--optimiser", "sdg"}), "did you mean 'sgd'?");
  expect_refused(train({"--schedule", "cosinus"}), "did you mean 'cosine'?");
  expect_refused(train({"--epochs", "-1"}), "expected a number");
  expect_refused(train({"--clip", "nan"}), "expected a number");
  for (const char* share : {"0", "101%", "-1", "x", "75%%"}) {
    expect_refused(train({"--grace", share}), "--grace expects a share above 0 and at most 1");
  }
  expect_refused(gradwire({"train", "--model", "logistic", "--grace", "75%"}),
                 "--grace is for networks, not for logistic");
  expect_refused(gradwire({"train", "--model", "cnm"}), "did you mean 'cnn'?");
  EXPECT_FALSE(std::filesystem::exists(out_));
}

TEST_F(TrainNetwork, AModelThatDoesNotFitTheDataIsRefused) {
  expect_refused(
      gradwire({"train", "--model", "transformer", "--data", "generated", "--out", out_}),
      "takes text");
}

TEST_F(TrainNetwork, ThreadsProcessesAndMpiGiveTheSameModel) {
  for (const char* method :
       {"'natural | entropy'", "'sasg(topk(5%), window=2)'",
        "'lgc(ring, full=1, sparse=2, error=9)'", "'lgc(server, full=0, sparse=2, error=9)'"}) {
    const std::string run = command("--json --overwrite --workers 3 --steps 8 --method ") + method;
    const Outcome threads = in_a_process(run);
    ASSERT_EQ(threads.exit_code, kDone) << threads.err;
    const Outcome processes = in_a_process(run + " --transport tcp");
    ASSERT_EQ(processes.exit_code, kDone) << processes.err;
    EXPECT_EQ(processes.json()["model_hash"], threads.json()["model_hash"]);
    EXPECT_EQ(processes.json()["final"], threads.json()["final"]);
    if (!has_mpi()) GTEST_SKIP() << "built without MPI";
    const Outcome mpi = in_a_process(mpirun(3) + run);
    ASSERT_EQ(mpi.exit_code, kDone) << mpi.err;
    EXPECT_EQ(mpi.json()["model_hash"], threads.json()["model_hash"]);
  }
}

// Ctrl-C in a terminal goes to all processes of the command.
TEST_F(TrainNetwork, CtrlCWritesACheckpointAndSaysHowToGoOn) {
  for (const char* transport : {"in-process", "tcp"}) {
    const std::string run = command(
                                "--workers 2 --method 'ef(topk(1%))' --steps 1000000 "
                                "--overwrite --transport ") +
                            transport;
    std::filesystem::remove_all(out_);
    const Outcome stopped = in_a_process("setsid " + run + " & until [ -s " + out_ +
                                         "/steps.jsonl ]; do sleep 0.05; done; "
                                         "kill -INT -$!; wait $!");
    EXPECT_EQ(stopped.exit_code, launch::kStopped) << stopped.err;
    EXPECT_TRUE(contains(stopped.err, "stopped after step ")) << stopped.err;
    EXPECT_TRUE(contains(stopped.err, "Resume with\n  gradwire train ")) << stopped.err;
    EXPECT_TRUE(contains(stopped.err, "--method 'ef(topk(1%))'")) << stopped.err;
    EXPECT_FALSE(std::filesystem::exists(out_ + "/run.json"));
    EXPECT_FALSE(record::whole_checkpoints(out_ + "/checkpoints").empty());
  }
}

// Runs the command until steps.jsonl has so many lines and some milliseconds have passed, then
// kills it with all its processes. What it has written decides, not the clock alone: on a fast
// machine a clock finds the run at its end.
Outcome TrainNetwork::run_until(const std::string& call, std::size_t lines,
                                unsigned more_ms) const {
  const std::string written = "$(wc -l 2>/dev/null <" + out_ + "/steps.jsonl || echo 0)";
  return in_a_process("setsid " + call + " & for look in $(seq 6000); do [ " + written + " -ge " +
                      std::to_string(lines) + " ] && break; sleep 0.01; done; sleep " +
                      std::to_string(more_ms) + "e-3; kill -KILL -$! 2>/dev/null; wait $!");
}

// Processes and threads take turns.
void TrainNetwork::kill_at_random_moments(const std::string& method) const {
  constexpr std::size_t kSteps = 120;
  constexpr int kKilled = 128 + SIGKILL;
  const std::string same = "--workers 2 --method '" + method +
                           "' --optimiser 'sgd(momentum=0.9)' --steps " + std::to_string(kSteps) +
                           " --checkpoint-every 7 --evaluate-every 50 --json";
  const Outcome whole = in_a_process(command(same));
  ASSERT_EQ(whole.exit_code, kDone) << whole.err;
  std::filesystem::remove_all(out_);
  const RandomStream random = Rng{.seed = 5, .purpose = Purpose::data}.stream(0, 0);
  auto draw = [&, drawn = 0u](unsigned below) mutable {
    return (random.at(drawn++) >> 16) % below;
  };
  int kills = 0;
  Outcome last;
  for (int life = 0; life < 20; ++life) {
    const std::string call =
        command(same + (life % 2 == 0 ? "" : " --transport tcp") + (life == 0 ? "" : " --resume"));
    const std::string steps = out_ + "/steps.jsonl";
    const auto done = static_cast<std::size_t>(
        std::filesystem::exists(steps) ? std::ranges::count(read_text(steps), '\n') : 0);
    // Every third life may end before its first step.
    const std::size_t lines = life % 3 == 2 ? 0 : std::min(done + 3 + draw(25), kSteps);
    last = run_until(call, lines, draw(lines == 0 ? 400 : 30));
    if (last.exit_code == kDone) break;
    if (contains(last.err, "has no checkpoint to resume from")) {  // it was too early
      std::filesystem::remove_all(out_);
      continue;
    }
    ASSERT_EQ(last.exit_code, kKilled) << last.err;
    ++kills;
  }
  EXPECT_GT(kills, 0);
  if (last.exit_code != kDone) last = in_a_process(command(same + " --resume"));
  ASSERT_EQ(last.exit_code, kDone) << last.err;
  EXPECT_EQ(last.json()["model_hash"], whole.json()["model_hash"]);
  EXPECT_EQ(last.json()["final"], whole.json()["final"]);
  EXPECT_EQ(record::read_steps(out_ + "/steps.jsonl").size(), kSteps);
}

TEST_F(TrainNetwork, KilledAtRandomMomentsItEndsWithTheModelOfARunThatNeverWas) {
  kill_at_random_moments("ef(topk(1%) | natural)");
}

TEST_F(TrainNetwork, KilledAtRandomMomentsInAllPhasesOfACodeItEndsTheSame) {
  kill_at_random_moments("lgc(ring, full=20, sparse=40, error=9, refresh=10)");
}

}  // namespace
}  // namespace gradwire::cli
