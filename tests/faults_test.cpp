// A peer that dies or falls silent ends every other rank within the deadline and two seconds, with
// an error that names the first cause; ranks that do not fit together find out at the start; and
// nobody is accused for being busy or for finishing early. Every test of a fault prints the seconds
// that it saw.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <filesystem>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "gradwire/collective/method_exchange.h"
#include "gradwire/collective/test_support.h"
#include "gradwire/transport/mpi.h"
#include "gradwire/transport/secret.h"
#include "tests/process_group.h"

namespace gradwire {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;
using Clock = ProcessGroup::Clock;
using Words = std::vector<std::string>;

constexpr std::size_t kRanks = 4;
constexpr std::size_t kVictim = 2;
constexpr milliseconds kDeadline{3000};
constexpr milliseconds kTimeMax = kDeadline + 2s;  // until everybody has ended
constexpr milliseconds kStartTimeMax{60000};
constexpr int kKilled = 128 + SIGKILL;

double seconds_between(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

// Errors have a line each; the rest of what a process wrote is not ours.
std::string error_of(std::size_t rank, const std::string& text) {
  const std::string begin = "rank " + std::to_string(rank) + ": error: ";
  const std::size_t at = text.find(begin);
  if (at == std::string::npos) return "";
  const std::size_t end = text.find('\n', at);
  // A line without its end is still being written.
  return end == std::string::npos ? "" : text.substr(at + begin.size(), end - at - begin.size());
}

void report(const char* fault, std::size_t rank, double seconds, const std::string& what) {
  std::printf("fault %s: rank %zu ended after %.2f s: %s\n", fault, rank, seconds, what.c_str());
}

Words fault_words(const Words& more = {}) {
  Words words = {"fault", "--deadline-ms", std::to_string(kDeadline.count())};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

// All ranks are in the middle of exchanges, one a process of the group.
testing::AssertionResult are_exchanging(ProcessGroup& group) {
  const bool are = group.wait_until(kStartTimeMax, [&] {
    for (std::size_t rank = 0; rank < group.size(); ++rank) {
      if (group.has_ended(rank)) return true;
      if (group.out(rank).find("step 2 done") == std::string::npos) return false;
    }
    return true;
  });
  if (!are) return testing::AssertionFailure() << "they have not come so far";
  for (std::size_t rank = 0; rank < group.size(); ++rank) {
    if (group.has_ended(rank)) return testing::AssertionFailure() << group.err(rank);
  }
  return testing::AssertionSuccess();
}

// The rank's process ends in time, in order, with an error of which `words` are a part.
void expect_error(ProcessGroup& group, const char* fault, std::size_t rank, Clock::time_point since,
                  const std::string& words) {
  const auto left = std::chrono::duration_cast<milliseconds>(since + 4 * kTimeMax - Clock::now());
  ASSERT_TRUE(group.wait_for_end(rank, left)) << "rank " << rank << " hangs";
  const double seconds = seconds_between(since, group.end_time(rank));
  const std::string error = error_of(rank, group.err(rank));
  report(fault, rank, seconds, error);
  EXPECT_LE(seconds, std::chrono::duration<double>(kTimeMax).count());
  EXPECT_EQ(group.exit_code(rank), 1) << group.err(rank);
  EXPECT_NE(error.find(words), std::string::npos) << group.err(rank);
}

void expect_errors_of_others(ProcessGroup& group, const char* fault, Clock::time_point since,
                             const std::string& words) {
  for (std::size_t rank = 0; rank < kRanks; ++rank) {
    if (rank != kVictim) expect_error(group, fault, rank, since, words);
  }
}

// With connections that are open to all, and with encrypted ones.
class Fault : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (std::string(GetParam()) != "Tls") return;
    make_secret_file(secret_file_);
    variables_ = {"GRADWIRE_SECRET_FILE=" + secret_file_};
  }
  void TearDown() override { std::filesystem::remove(secret_file_); }

  template <class ArgumentsOf>
  void start_ranks(ProcessGroup& group, const ArgumentsOf& arguments_of) const {
    start_tcp_ranks(group, kRanks, arguments_of, variables_);
  }

  const std::string secret_file_ = std::filesystem::temp_directory_path() /
                                   ("gradwire-fault-secret-" + std::to_string(getpid()));
  Words variables_;
};

INSTANTIATE_TEST_SUITE_P(, Fault, testing::Values("Plain", "Tls"),
                         [](const auto& test) { return std::string(test.param); });

TEST_P(Fault, KilledRankIsNamedByAllOthers) {
  ProcessGroup group;
  start_ranks(group, [](std::size_t) { return fault_words(); });
  ASSERT_TRUE(are_exchanging(group));
  const Clock::time_point start = Clock::now();
  group.send_signal(kVictim, SIGKILL);
  expect_errors_of_others(group, "kill", start, "lost rank 2 (127.0.0.1:");
  EXPECT_EQ(group.exit_code(kVictim), kKilled);
}

TEST_P(Fault, StoppedRankIsNamedByAllOthersAndEndsWhenItGoesOn) {
  ProcessGroup group;
  start_ranks(group, [](std::size_t) { return fault_words(); });
  ASSERT_TRUE(are_exchanging(group));
  const Clock::time_point start = Clock::now();
  group.send_signal(kVictim, SIGSTOP);
  expect_errors_of_others(group, "stop", start, "lost rank 2 (127.0.0.1:");
  const Clock::time_point goes_on = Clock::now();
  group.send_signal(kVictim, SIGCONT);
  expect_error(group, "stop, then continue", kVictim, goes_on, "lost rank 2 (127.0.0.1:");
}

// Hosts on a network of their own, which takes root; see tools/netlab.
class Laboratory {
 public:
  Laboratory() : variable_("NETLAB=gwfault" + std::to_string(getpid())) {}
  ~Laboratory() { call({"down"}); }
  Laboratory(const Laboratory&) = delete;
  Laboratory& operator=(const Laboratory&) = delete;

  // The exit code; what it says goes to `message`.
  int call(const Words& arguments) {
    ProcessGroup group;
    group.start(command(arguments), {variable_});
    if (!group.wait_for_all(30s)) return -1;
    message = group.err(0);
    return group.exit_code(0);
  }

  void start_rank(ProcessGroup& group, std::size_t rank, const Words& more) const {
    constexpr std::uint16_t kPort = 29500;  // nobody else is on that network
    Words arguments = {"exec", std::to_string(rank), GRADWIRE_RANKS_PROGRAM};
    for (const std::string& word : fault_words()) arguments.push_back(word);
    Words variables = rank_variables(rank, kRanks, "10.77.0.1", kPort);
    variables.push_back(variable_);
    variables.insert(variables.end(), more.begin(), more.end());
    group.start(command(arguments), variables);
  }

  std::string message;

 private:
  static Words command(const Words& arguments) {
    Words words = {"tools/netlab"};
    words.insert(words.end(), arguments.begin(), arguments.end());
    return words;
  }

  const std::string variable_;
};

TEST_P(Fault, RankThatIsCutOffTheNetworkIsNamedByAllOthersAndEndsItself) {
  if (geteuid() != 0 || !has_program("ip")) GTEST_SKIP() << "this takes root and iproute2";
  Laboratory laboratory;
  const int made = laboratory.call({"up", std::to_string(kRanks), "1gbit"});
  if (made == 3) GTEST_SKIP() << laboratory.message;
  ASSERT_EQ(made, 0) << laboratory.message;

  ProcessGroup group;
  for (std::size_t rank = 0; rank < kRanks; ++rank) laboratory.start_rank(group, rank, variables_);
  ASSERT_TRUE(are_exchanging(group));
  const Clock::time_point start = Clock::now();
  ASSERT_EQ(laboratory.call({"cut", std::to_string(kVictim)}), 0) << laboratory.message;
  expect_errors_of_others(group, "cut", start, "lost rank 2 (10.77.0.3:");
  expect_error(group, "cut", kVictim, start, "this rank itself may be cut off its network");
}

// Without an error, and no later than a rank's own idling and its work make it.
void expect_all_finish(ProcessGroup& group, const char* what, Clock::time_point start,
                       milliseconds idle) {
  constexpr milliseconds kWorkTimeMax = kDeadline - 100ms;  // closing never waits for a deadline
  ASSERT_TRUE(group.wait_for_all(kStartTimeMax));
  for (std::size_t rank = 0; rank < kRanks; ++rank) {
    const double seconds = seconds_between(start, group.end_time(rank));
    report(what, rank, seconds, group.err(rank).empty() ? "no error" : group.err(rank));
    EXPECT_EQ(group.exit_code(rank), 0) << "rank " << rank << ": " << group.err(rank);
    EXPECT_LE(seconds, std::chrono::duration<double>(idle + kWorkTimeMax).count());
  }
}

// The caller of one rank is away for 2.5 deadlines while the others wait in an exchange.
TEST_P(Fault, BusyRankIsNotAccused) {
  ProcessGroup group;
  const Clock::time_point start = Clock::now();
  start_ranks(group, [](std::size_t rank) {
    const auto busy = rank == kVictim ? kDeadline * 5 / 2 : 0ms;
    return fault_words({"--steps", "3", "--sleep-before-ms", std::to_string(busy.count())});
  });
  expect_all_finish(group, "busy", start, kDeadline * 5 / 2);
}

// One rank closes two deadlines before the others do.
TEST_P(Fault, RankThatFinishesEarlyIsNotAccused) {
  ProcessGroup group;
  const Clock::time_point start = Clock::now();
  start_ranks(group, [](std::size_t rank) {
    const auto late = rank == kVictim ? 0ms : kDeadline * 2;
    return fault_words({"--steps", "3", "--sleep-after-ms", std::to_string(late.count())});
  });
  expect_all_finish(group, "early", start, kDeadline * 2);
}

// It has said goodbye and waits for the others, who are still busy, when it is stopped: they must
// not wait for it in turn.
TEST_P(Fault, RankThatIsStoppedWhileItClosesDoesNotHoldUpTheOthers) {
  constexpr milliseconds kLate{2000};
  ProcessGroup group;
  start_ranks(group, [&](std::size_t rank) {
    const auto late = rank == kVictim ? 0ms : kLate;
    return fault_words({"--steps", "3", "--sleep-after-ms", std::to_string(late.count())});
  });
  ASSERT_TRUE(are_exchanging(group));
  std::this_thread::sleep_for(kLate / 4);
  const Clock::time_point start = Clock::now();
  group.send_signal(kVictim, SIGSTOP);
  for (std::size_t rank = 0; rank < kRanks; ++rank) {
    if (rank == kVictim) continue;
    ASSERT_TRUE(group.wait_for_end(rank, 4 * kTimeMax)) << "rank " << rank << " hangs";
    const double seconds = seconds_between(start, group.end_time(rank));
    const std::string error = error_of(rank, group.err(rank));
    report("stop while closing", rank, seconds, error.empty() ? "no error" : error);
    EXPECT_LE(seconds, std::chrono::duration<double>(kLate + kTimeMax).count());
    EXPECT_EQ(group.exit_code(rank), error.empty() ? 0 : 1) << group.err(rank);
    if (error.empty()) continue;
    EXPECT_NE(error.find("lost rank 2 ("), std::string::npos) << error;
  }
}

TEST_P(Fault, ProcessesThatDisagreeFindOutAtTheStart) {
  ProcessGroup group;
  const Clock::time_point start = Clock::now();
  start_ranks(group, [](std::size_t rank) {
    return fault_words({"--codec", rank == kVictim ? "natural" : "qsgd(bits=8)"});
  });
  for (std::size_t rank = 0; rank < kRanks; ++rank) {
    expect_error(group, "disagreement", rank, start,
                 rank == kVictim ? "rank 0 (127.0.0.1:" : "rank 2 (127.0.0.1:");
    EXPECT_NE(group.err(rank).find("uplink codec"), std::string::npos) << group.err(rank);
    EXPECT_EQ(group.out(rank), "");
  }
}

// --- MPI: the job is one process to us, mpirun, which passes on what its ranks write -------------

class FaultOfMpi : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_mpi()) GTEST_SKIP() << "this build has no MPI";
    if (!has_program("mpirun")) GTEST_SKIP() << "there is no mpirun";
    start_mpi_ranks(group_, kRanks, fault_words());
    ASSERT_TRUE(group_.wait_until(
        kStartTimeMax, [&] { return group_.has_ended(0) || are_exchanging(group_.out(0)); }));
    ASSERT_FALSE(group_.has_ended(0)) << group_.err(0);
    const std::string text = group_.out(0);
    const std::size_t at = text.find(kStarted);
    ASSERT_NE(at, std::string::npos) << text;
    victim_ = std::stoi(text.substr(at + kStarted.size()));
  }

  // mpirun does not end ranks that are stopped if it is killed itself.
  void TearDown() override {
    if (victim_ > 0 && !group_.has_ended(0)) kill(victim_, SIGKILL);
  }

  void expect_job_ends(const char* fault, Clock::time_point since) {
    ASSERT_TRUE(group_.wait_for_all(kStartTimeMax));
    const double seconds = seconds_between(since, group_.end_time(0));
    std::printf("fault %s: mpirun ended after %.2f s with exit code %d\n", fault, seconds,
                group_.exit_code(0));
    EXPECT_NE(group_.exit_code(0), 0);
  }

  ProcessGroup group_;
  pid_t victim_ = 0;

 private:
  static bool are_exchanging(const std::string& text) {
    for (std::size_t rank = 0; rank < kRanks; ++rank) {
      const std::string line = "rank " + std::to_string(rank) + ": step 2 done\n";
      if (text.find(line) == std::string::npos) return false;
    }
    return true;
  }

  const std::string kStarted = "rank " + std::to_string(kVictim) + ": started, process ";
};

TEST_F(FaultOfMpi, KilledRankEndsTheJob) {
  const Clock::time_point start = Clock::now();
  kill(victim_, SIGKILL);
  expect_job_ends("kill with MPI", start);
  EXPECT_LE(seconds_between(start, group_.end_time(0)),
            std::chrono::duration<double>(kTimeMax).count());
  // mpirun sees it first, and says so.
  const std::string err = group_.err(0);
  EXPECT_TRUE(err.find("rank 2 with PID") != std::string::npos ||
              err.find("lost rank 2 (host ") != std::string::npos)
      << err;
}

TEST_F(FaultOfMpi, StoppedRankIsNamedByAllOthersAndTheJobEnds) {
  const Clock::time_point start = Clock::now();
  kill(victim_, SIGSTOP);
  std::vector<double> seconds(kRanks, -1);
  group_.wait_until(4 * kTimeMax, [&] {
    const std::string err = group_.err(0);
    for (std::size_t rank = 0; rank < kRanks; ++rank) {
      if (seconds[rank] < 0 && !error_of(rank, err).empty()) {
        seconds[rank] = seconds_between(start, Clock::now());
      }
    }
    return group_.has_ended(0);
  });
  const std::string err = group_.err(0);
  for (std::size_t rank = 0; rank < kRanks; ++rank) {
    if (rank == kVictim) continue;
    const std::string error = error_of(rank, err);
    report("stop with MPI", rank, seconds[rank], error);
    EXPECT_NE(error.find("lost rank 2 (host "), std::string::npos) << err;
    EXPECT_LE(seconds[rank], std::chrono::duration<double>(kTimeMax).count());
  }
  expect_job_ends("stop with MPI", start);
}

// --- Ranks that are threads ----------------------------------------------------------------------

// Its owner's half hangs, as a bug or a swapping machine would make it, until the others have
// ended.
class StallingPort final : public OwnerPort {
 public:
  explicit StallingPort(std::size_t others) : others_(others) {}

  void prepare(const TensorPiece&, std::span<const float>, std::span<float>) override {
    std::unique_lock lock(mutex_);
    all_ended_.wait_for(lock, 4 * kTimeMax, [this] { return others_ == 0; });
  }
  void commit(const TensorPiece&, std::span<const float>, std::span<const float>) override {}

  void one_has_ended() {
    const std::lock_guard lock(mutex_);
    if (--others_ == 0) all_ended_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable all_ended_;
  std::size_t others_;
};

TEST(FaultThread, StalledRankIsNamedByAllOthers) {
  constexpr milliseconds kShortDeadline{1000};
  const std::vector<TensorSize> shapes = {{"weights", 100000}};
  StallingPort port(kRanks - 1);
  InProcessWorld world(kRanks);
  const Clock::time_point start = Clock::now();
  run_ranks(kRanks, [&](std::size_t rank) {
    Communicator communicator(world.join(rank), {.run = 7, .peer_timeout = kShortDeadline});
    RankTensors tensors(rank, shapes);
    const auto exchange =
        make_method_exchange(communicator, shapes,
                             {.up = make_codec("qsgd(bits=8)"), .topology = Topology::scatter}, {});
    try {
      exchange->start(tensors.call(), {.owner = rank == kVictim ? &port : nullptr});
      exchange->finish();
      ADD_FAILURE() << "rank " << rank << " noticed nothing";
    } catch (const PeerError& error) {
      const double seconds = seconds_between(start, Clock::now());
      report("stall", rank, seconds, error.what());
      EXPECT_EQ(error.rank(), kVictim) << error.what();
      EXPECT_NE(std::string(error.what()).find("lost rank 2 (thread 2)"), std::string::npos)
          << error.what();
      if (rank != kVictim) {
        EXPECT_LE(seconds, std::chrono::duration<double>(kShortDeadline + 2s).count());
      }
    }
    if (rank != kVictim) port.one_has_ended();
  });
}

// What a rank may see differently.
struct Disagreement {
  std::string subject;  // as the error calls it
  std::uint64_t run = 7;
  std::size_t elements = 1000;
  const char* codec = "qsgd(bits=8)";
  Topology topology = Topology::scatter;
};

void expect_says(const StartError& error, const std::string& subject, std::size_t rank) {
  const std::string what = error.what();
  const std::string odd = rank == kVictim ? "rank 0 (thread 0) has " : "rank 2 (thread 2) has ";
  EXPECT_NE(what.find(odd + subject), std::string::npos) << what;
}

TEST(FaultThread, RunThatDiffersIsFoundAtTheStart) {
  InProcessWorld world(kRanks);
  run_ranks(kRanks, [&](std::size_t rank) {
    try {
      Communicator(world.join(rank), {.run = rank == kVictim ? 8u : 7u, .peer_timeout = kDeadline});
      ADD_FAILURE() << "rank " << rank << " noticed nothing";
    } catch (const StartError& error) {
      expect_says(error, "run ", rank);
    }
  });
}

// After the error all ranks can still agree on something else.
TEST(FaultThread, ExchangesThatDifferAreFoundAtTheStart) {
  const Disagreement others{.subject = ""};
  for (const Disagreement& odd :
       {Disagreement{.subject = "length ", .elements = 1001},
        Disagreement{.subject = "uplink codec ", .codec = "natural"},
        Disagreement{.subject = "topology ", .topology = Topology::gather}}) {
    SCOPED_TRACE(odd.subject);
    run_communicators(kRanks, [&](Communicator& communicator) {
      const auto make = [&](const Disagreement& what) {
        return make_exchange(communicator, {{"weights", what.elements}},
                             {.up = make_codec(what.codec), .topology = what.topology});
      };
      try {
        make(communicator.rank() == kVictim ? odd : others);
        ADD_FAILURE() << "rank " << communicator.rank() << " noticed nothing";
      } catch (const StartError& error) {
        expect_says(error, odd.subject, communicator.rank());
      }
      EXPECT_NO_THROW(make(others));
    });
  }
}

}  // namespace
}  // namespace gradwire
