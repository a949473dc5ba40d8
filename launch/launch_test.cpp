// Workers are shells here: what they see and how they end is all that launching is about.
#include "launch/launch.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "gradwire/core/error.h"
#include "gradwire/file/test_directory.h"
#include "gtest/gtest.h"
#include "launch/exit_codes.h"

namespace gradwire::launch {
namespace {

using namespace std::chrono_literals;

void launch(std::size_t workers, const std::string& script,
            std::chrono::milliseconds grace = 5000ms) {
  launch_workers(
      {.program = "/bin/sh", .arguments = {"-c", script}, .workers = workers, .grace = grace});
}

std::string failure(std::size_t workers, const std::string& script,
                    std::chrono::milliseconds grace = 5000ms) {
  return message_of<Error>([&] { launch(workers, script, grace); });
}

TEST(Launch, EveryWorkerHasItsPlaceInTheEnvironment) {
  const TestDirectory directory;
  setenv("RANK", "17", 1);  // somebody else's, to be replaced
  launch(3, "echo $RANK $WORLD_SIZE $MASTER_ADDR > " + (directory / "worker").string() +
                "$RANK; echo $MASTER_PORT > " + (directory / "port").string() + "$RANK");
  unsetenv("RANK");
  EXPECT_EQ(read_text(directory / "worker0"), "0 3 127.0.0.1\n");
  EXPECT_EQ(read_text(directory / "worker1"), "1 3 127.0.0.1\n");
  EXPECT_EQ(read_text(directory / "worker2"), "2 3 127.0.0.1\n");
  const std::string port = read_text(directory / "port0");
  EXPECT_GT(std::stoi(port), 1023);
  EXPECT_EQ(read_text(directory / "port1"), port);
}

TEST(Launch, OnlyRankZeroHasTheStdout) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  launch(3, "echo from $RANK");
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "from 0\n");
  const std::string err = testing::internal::GetCapturedStderr();
  EXPECT_TRUE(err == "from 1\nfrom 2\n" || err == "from 2\nfrom 1\n") << err;
}

TEST(Launch, FailureNamesTheRankAndHowItEnded) {
  EXPECT_EQ(failure(3, "[ $RANK != 1 ] || exit 3"), "rank 1 ended with exit code 3");
  EXPECT_EQ(failure(2, "[ $RANK != 1 ] || kill -9 $$"), "rank 1 was ended by signal 9 (Killed)");
}

TEST(Launch, ErrorIsTheCauseEvenIfWhoLostItsPeerIsSeenFirst) {
  const std::string lost = "exit " + std::to_string(kLostPeer);
  EXPECT_EQ(failure(2, "[ $RANK = 1 ] || " + lost + "; sleep 0.3; exit 1"),
            "rank 1 ended with exit code 1");
  EXPECT_EQ(failure(1, lost), "rank 0 lost a peer, which its message names");
}

TEST(Launch, SignalIsTheCauseEvenIfAPeerIsSeenFirst) {
  EXPECT_EQ(failure(2, "[ $RANK = 0 ] && exit 1; sleep 0.3; kill -9 $$"),
            "rank 1 was ended by signal 9 (Killed)");
}

TEST(Launch, WorkersThatDoNotEndAfterAFailureAreEnded) {
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(failure(2, "[ $RANK = 0 ] && exit 1; exec sleep 1000", 200ms),
            "rank 0 ended with exit code 1");
  EXPECT_LT(std::chrono::steady_clock::now() - start, 2s);
  // One that does not listen to SIGTERM, either.
  EXPECT_EQ(failure(2, "[ $RANK = 0 ] && exit 1; trap '' TERM; while :; do sleep 0.1; done", 200ms),
            "rank 0 ended with exit code 1");
  EXPECT_LT(std::chrono::steady_clock::now() - start, 10s);
}

TEST(Launch, ProgramThatIsNotThereIsAFailure) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(message_of<Error>([] { launch_workers({.program = "/no/such/program"}); }),
            "rank 0 ended with exit code 127");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "gradwire: cannot start this program again\n");
}

TEST(Launch, WorkersDoNotOutliveWhoStartedThem) {
  const TestDirectory directory;
  const std::string path = (directory / "process").string();
  const pid_t starter = fork();
  if (starter == 0) {
    launch(2, "echo $$ > " + path + "$RANK; exec sleep 1000");
    _exit(0);
  }
  pid_t workers[2] = {};
  for (int rank = 0; rank < 2; ++rank) {
    std::string text;
    while (!text.ends_with('\n')) {
      std::this_thread::sleep_for(10ms);
      text = read_text(path + std::to_string(rank));
    }
    workers[rank] = std::stoi(text);
  }
  kill(starter, SIGKILL);
  waitpid(starter, nullptr, 0);
  for (const pid_t worker : workers) {
    // Somebody else reaps it: it is gone, or it is left as a zombie, which has no memory map.
    const std::string maps = "/proc/" + std::to_string(worker) + "/maps";
    for (int i = 0; i < 500 && !read_text(maps).empty(); ++i) std::this_thread::sleep_for(10ms);
    EXPECT_EQ(read_text(maps), "");
  }
}

}  // namespace
}  // namespace gradwire::launch
