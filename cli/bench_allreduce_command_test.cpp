// Tests of bench allreduce. What the clock says is never asserted beyond being a time.
#include <algorithm>
#include <cstdlib>
#include <limits>

#include "cli/test_program.h"
#include "gradwire/file/tensor_file.h"
#include "gradwire/file/test_directory.h"
#include "gradwire/transport/mpi.h"
#include "gtest/gtest.h"

namespace gradwire::cli {
namespace {

using Names = std::vector<std::string>;

// bench allreduce in threads of this process, for a short time.
Outcome bench(const Names& more) {
  Names arguments = {"bench", "allreduce", "--rounds", "2"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return gradwire(arguments);
}

// The real program, as a shell starts it.
Outcome in_a_process(const std::string& call) {
  const TestDirectory directory;
  const std::string out = directory / "out";
  const std::string err = directory / "err";
  const int status = std::system(("{ " + call + "; } >" + out + " 2>" + err).c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_text(out), read_text(err)};
}

void expect_wrong_usage(const Outcome& outcome, std::string_view what) {
  EXPECT_EQ(outcome.exit_code, kWrongUsage);
  EXPECT_EQ(outcome.out, "");
  EXPECT_TRUE(contains(outcome.err, what)) << "expected: " << what << "\n" << outcome.err;
}

TEST(BenchAllreduceThreads, JsonHasTheBaselineAndEveryMethodAskedFor) {
  const Outcome outcome = bench({"--json", "--elements", "5000", "--workers", "3", "--method",
                                 "qsgd(bits=4)", "--method", "direct(topk(1%), down=none)"});
  ASSERT_EQ(outcome.exit_code, kDone) << outcome.err;
  const Json document = outcome.json();
  EXPECT_EQ(fields(document), (Names{"baseline", "sum", "scaling", "elements", "tensors", "input",
                                     "rounds", "results"}));
  EXPECT_EQ(fields(document["baseline"]), (Names{"name", "ms", "ms_min"}));
  EXPECT_EQ(document["baseline"]["name"], "in-process fp32 allreduce");
  EXPECT_EQ(document["elements"], 5000);
  EXPECT_EQ(document["tensors"], 1);
  EXPECT_EQ(document["input"], "gaussian");
  ASSERT_EQ(document["results"].size(), 2u);
  EXPECT_EQ(document["results"][0]["method"], "qsgd(bits=4)");
  EXPECT_EQ(document["results"][0]["spec"], "qsgd(bits=4, norm=linf, bucket=512)");
  EXPECT_EQ(document["results"][1]["method"], "direct(topk(1%), down=none)");
  for (const Json& result : document["results"]) {
    EXPECT_EQ(fields(result), (Names{"method", "spec", "topology", "transport", "workers", "ms",
                                     "ms_min", "ratio", "bytes_sent_per_rank", "relative_error",
                                     "encode_ms", "exchange_ms", "decode_ms"}));
    EXPECT_EQ(result["transport"], "in-process");
    EXPECT_EQ(result["workers"], 3);
    EXPECT_GT(result["ms"], 0.0);
    EXPECT_GT(result["ratio"], 0.0);
    EXPECT_GT(result["bytes_sent_per_rank"], 0);
    EXPECT_GT(result["relative_error"], 0.0);
  }
}

TEST(BenchAllreduceThreads, EveryTopologyGivesTheMean) {
  for (const char* topology : {"auto", "scatter", "server", "gather", "ring"}) {
    const Outcome outcome = bench({"--json", "--elements", "10007", "--workers", "3", "--topology",
                                   topology, "--method", "none"});
    ASSERT_EQ(outcome.exit_code, kDone) << outcome.err;
    const Json result = outcome.json()["results"][0];
    if (topology != std::string("auto")) {
      EXPECT_EQ(result["topology"], topology);
    }
    EXPECT_LT(result["relative_error"], 1e-6) << topology;
  }
}

TEST(BenchAllreduceThreads, DedicatedServerGivesNothingToTheMean) {
  const Outcome outcome =
      bench({"--json", "--elements", "1000", "--workers", "3", "--topology", "server", "--server",
             "1", "--dedicated-server", "--method", "none"});
  ASSERT_EQ(outcome.exit_code, kDone) << outcome.err;
  EXPECT_LT(outcome.json()["results"][0]["relative_error"], 1e-6);
}

TEST(BenchAllreduceThreads, ManyTensorsGoInOneCall) {
  const Outcome outcome = bench(
      {"--json", "--elements", "20000", "--tensors", "50", "--method", "none", "--method", "sign"});
  ASSERT_EQ(outcome.exit_code, kDone) << outcome.err;
  EXPECT_EQ(outcome.json()["tensors"], 50);
  EXPECT_LT(outcome.json()["results"][0]["relative_error"], 1e-6);
}

TEST(BenchAllreduceThreads, FigureOfTheSameSeedIsTheSame) {
  const auto error = [](const char* seed) {
    return bench({"--json", "--elements", "4096", "--method", "natural", "--seed", seed})
        .json()["results"][0]["relative_error"];
  };
  EXPECT_EQ(error("7"), error("7"));
  EXPECT_NE(error("7"), error("8"));
}

TEST(BenchAllreduceThreads, EveryWorkerCanHaveAFileOfItsOwn) {
  const TestDirectory directory;
  write_tensor(directory / "gradient0.f32", {.values = {1, 2, 3}});
  write_tensor(directory / "gradient1.f32", {.values = {3, 2, 1}});
  const Outcome outcome =
      bench({"--json", "--input", directory / "gradient{rank}.f32", "--method", "none"});
  ASSERT_EQ(outcome.exit_code, kDone) << outcome.err;
  EXPECT_EQ(outcome.json()["elements"], 3);
  EXPECT_EQ(outcome.json()["results"][0]["relative_error"], 0.0);
}

TEST(BenchAllreduceThreads, FirstCauseIsReportedOnce) {
  const TestDirectory directory;
  write_tensor(directory / "gradient0.f32", {.values = {1, 2, 3}});
  const Outcome outcome = bench({"--input", directory / "gradient{rank}.f32", "--workers", "3"});
  EXPECT_EQ(outcome.exit_code, kFailed);
  EXPECT_TRUE(contains(outcome.err, ".f32: ")) << outcome.err;
  EXPECT_EQ(std::ranges::count(outcome.err, '\n'), 1) << outcome.err;
}

TEST(BenchAllreduceThreads, ValuesThatAreNoNumbersAreRefused) {
  const TestDirectory directory;
  const std::string path = directory / "gradient.f32";
  write_tensor(path, {.values = {1, std::numeric_limits<float>::quiet_NaN(), 3}});
  const Outcome outcome = bench({"--input", path, "--method", "natural"});
  EXPECT_EQ(outcome.exit_code, kFailed);
  EXPECT_EQ(outcome.err,
            "gradwire: natural: there is a NaN or an infinity among the values: no mean\n");
}

TEST(BenchAllreduceThreads, TableShowsTheMethodsAsTheyWereGivenBesideTheBaseline) {
  const Outcome outcome = bench({"--elements", "5000", "--method", "qsgd(bits=4)"});
  EXPECT_EQ(outcome.exit_code, kDone) << outcome.err;
  EXPECT_TRUE(contains(outcome.out, "\nin-process fp32 allreduce  ")) << outcome.out;
  EXPECT_TRUE(contains(outcome.out, "\nqsgd(bits=4)  ")) << outcome.out;
  EXPECT_TRUE(contains(outcome.out,
                       "5,000 elements (gaussian) in 1 tensor, 2 workers (in-process), median of "
                       "2 rounds."))
      << outcome.out;
  EXPECT_EQ(outcome.err, "");
}

TEST(BenchAllreduce, ContradictionsAreWrongUsage) {
  expect_wrong_usage(bench({"--server", "1"}), "--server is for --topology server");
  expect_wrong_usage(bench({"--dedicated-server"}), "--dedicated-server is for --topology server");
  expect_wrong_usage(bench({"--topology", "server", "--server", "2"}),
                     "--server 2: of 2 workers the last has rank 1");
  expect_wrong_usage(bench({"--topology", "server", "--dedicated-server", "--workers", "1"}),
                     "--dedicated-server leaves no worker to send it anything");
  expect_wrong_usage(bench({"--elements", "3", "--tensors", "4"}),
                     "3 elements do not make 4 tensors");
  expect_wrong_usage(bench({"--transport", "mpi"}), "mpirun -n 4 gradwire ...");
  expect_wrong_usage(bench({"--transport", "udp"}), "there is no transport 'udp'");
  expect_wrong_usage(bench({"--transport", "gloo"}), "write --transport tcp");
  expect_wrong_usage(bench({"--input", "a.f32", "--elements", "10"}), " excludes --");
}

TEST(BenchAllreduce, WrongSpecShowsThePosition) {
  expect_wrong_usage(bench({"--method", "direct(natural, down=naturl)"}),
                     "did you mean 'natural'?\n"
                     "  direct(natural, down=naturl)\n"
                     "                       ^\n");
}

TEST(BenchAllreduce, StartsProcessesThatMeetOverTcp) {
  const Outcome outcome =
      in_a_process(GRADWIRE_PROGRAM
                   " bench allreduce --transport tcp --workers 3 --json "
                   "--elements 10000 --rounds 2 --method none --method natural");
  ASSERT_EQ(outcome.exit_code, kDone) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  const Json document = outcome.json();
  EXPECT_EQ(document["sum"]["name"], "tcp fp32 allreduce");
  EXPECT_EQ(document["results"].size(), 2u);
  EXPECT_EQ(document["results"][0]["workers"], 3);
  EXPECT_LT(document["results"][0]["relative_error"], 1e-6);
}

TEST(BenchAllreduce, GivesTheSameErrorInThreadsAndInProcesses) {
  const std::string arguments =
      " bench allreduce --json --elements 10000 --rounds 1 --workers 2 --method 'qsgd(bits=4)'";
  const Outcome threads = in_a_process(GRADWIRE_PROGRAM + arguments);
  const Outcome processes = in_a_process(GRADWIRE_PROGRAM + arguments + " --transport tcp");
  for (const char* figure : {"relative_error", "bytes_sent_per_rank"}) {
    EXPECT_EQ(threads.json()["results"][0][figure], processes.json()["results"][0][figure]);
  }
}

TEST(BenchAllreduce, FindsItsRankInTheEnvironment) {
  const std::string call =
      "MASTER_ADDR=127.0.0.1 MASTER_PORT=$((20000 + $$ % 10000)) WORLD_SIZE=2 "
      "RANK=$r " GRADWIRE_PROGRAM
      " bench allreduce --json --elements 1000 --rounds 1 --method none";
  const Outcome outcome = in_a_process("for r in 1 0; do " + call + " & done; wait");
  ASSERT_EQ(outcome.err, "");
  EXPECT_EQ(outcome.json()["results"][0]["workers"], 2);
  EXPECT_EQ(outcome.json()["results"][0]["transport"], "tcp");
}

TEST(BenchAllreduce, FindsItsRankUnderMpirun) {
  if (!has_mpi()) GTEST_SKIP() << "built without MPI";
  const std::string mpirun =
      "ASAN_OPTIONS=detect_leaks=0 "  // Open MPI leaks; that is not ours to report
      "mpirun --allow-run-as-root --oversubscribe --bind-to none -n 2 ";
  const std::string call = mpirun + GRADWIRE_PROGRAM " bench allreduce --elements 1000 --rounds 1 ";
  const Outcome outcome = in_a_process(call + "--json --method none");
  ASSERT_EQ(outcome.exit_code, kDone) << outcome.err;
  EXPECT_EQ(outcome.json()["baseline"]["name"], "mpi fp32 allreduce");
  EXPECT_EQ(outcome.json()["results"][0]["workers"], 2);

  const Outcome refused = in_a_process(call + "--workers 3");
  EXPECT_EQ(refused.exit_code, kWrongUsage);
  EXPECT_TRUE(contains(refused.err, "--workers 3 contradicts mpirun: the number of workers is 2"));
}

TEST(BenchAllreduce, FailureOfAProcessIsSaidWithItsRank) {
  const TestDirectory directory;
  write_tensor(directory / "gradient0.f32", {.values = {1, 2, 3}});
  const Outcome outcome =
      in_a_process(GRADWIRE_PROGRAM " bench allreduce --transport tcp --input " +
                   (directory / "gradient{rank}.f32").string());
  EXPECT_EQ(outcome.exit_code, kFailed);
  EXPECT_EQ(outcome.out, "");
  EXPECT_TRUE(contains(outcome.err, "gradient1.f32: ")) << outcome.err;
  EXPECT_TRUE(contains(outcome.err, "gradwire: rank 1 ended with exit code 1\n")) << outcome.err;
}

}  // namespace
}  // namespace gradwire::cli
