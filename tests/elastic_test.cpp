// Elastic runs of real processes on this machine: they are killed, stopped and joined, and the
// models are compared step by step. No limits of time, except that everything ends.
#include <algorithm>
#include <array>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "gradwire/transport/secret.h"
#include "gtest/gtest.h"
#include "tests/process_group.h"

namespace gradwire {
namespace {

constexpr std::chrono::seconds kPatience{60};

class Elastic : public testing::Test {
 protected:
  void start(std::vector<std::string> words) {
    words.insert(words.begin(), {GRADWIRE_RANKS_PROGRAM, "elastic"});
    words.insert(words.end(), common_.begin(), common_.end());
    group_.start(words);
  }
  std::string address(std::size_t i) const {
    std::smatch found;
    const std::string out = group_.out(i);
    return std::regex_search(out, found, std::regex("listening (\\S+)")) ? found[1].str() : "";
  }
  bool wait_for(std::size_t i, const std::string& text) {
    const bool came =
        group_.wait_until(kPatience, [&] { return group_.out(i).find(text) != std::string::npos; });
    EXPECT_TRUE(came) << "process " << i << " has not said '" << text << "':\n"
                      << group_.out(i).substr(0, 3000) << group_.err(i);
    return came;
  }

  // A founder and newcomers, all of them members in the end.
  void start_group(std::size_t size) {
    common_.push_back("least=" + std::to_string(least_ == 0 ? size : least_));
    start({});
    ASSERT_TRUE(wait_for(0, "listening"));
    for (std::size_t i = 1; i < size; ++i) start({"join=" + address(0)});
    for (std::size_t i = 0; i < size; ++i) {
      ASSERT_TRUE(wait_for(i, " members=" + std::to_string(size) + " shares="));
    }
  }
  std::uint64_t last_step(std::size_t i) const {
    const std::string out = group_.out(i);
    const std::size_t at = out.rfind("\ncommit ");
    return at == std::string::npos ? 0 : std::stoull(out.substr(at + 8));
  }
  // All of these get at least that much further.
  void expect_progress(const std::set<std::size_t>& living, std::uint64_t steps = 10) {
    std::map<std::size_t, std::uint64_t> before;
    for (const std::size_t i : living) before[i] = last_step(i);
    for (const std::size_t i : living) {
      EXPECT_TRUE(group_.wait_until(kPatience, [&] { return last_step(i) >= before[i] + steps; }))
          << "process " << i << " stays at step " << before[i] << "\n"
          << group_.out(i).substr(std::max<std::size_t>(group_.out(i).size(), 2000) - 2000)
          << group_.err(i);
    }
  }
  void leave_all(const std::set<std::size_t>& living) {
    for (const std::size_t i : living) group_.send_signal(i, SIGTERM);
    for (const std::size_t i : living) {
      EXPECT_TRUE(group_.wait_for_end(i, kPatience)) << i;
      EXPECT_TRUE(wait_for(i, "end left"));
    }
  }

  // One model after every step, on all that have committed it; one view; the same shares. No
  // process leaves a step out.
  void expect_one_model() {
    static const std::regex kCommit(
        "commit (\\d+) (hash=\\w+ view=\\d+ members=\\d+ shares=\\d+ lost=\\S*) ms=\\d+ "
        "replay=\\d");
    std::map<std::uint64_t, std::string> seen;
    for (std::size_t i = 0; i < group_.size(); ++i) {
      std::istringstream out(group_.out(i));
      std::uint64_t last = 0;
      for (std::string line; std::getline(out, line);) {
        std::smatch found;
        if (!std::regex_match(line, found, kCommit)) continue;
        const std::uint64_t step = std::stoull(found[1]);
        if (last != 0) {
          EXPECT_EQ(step, last + 1) << "process " << i;
        }
        last = step;
        const auto [first, is_new] = seen.emplace(step, found[2]);
        if (!is_new) {
          EXPECT_EQ(first->second, found[2]) << "process " << i << ", step " << step;
        }
      }
    }
    EXPECT_FALSE(seen.empty());
    EXPECT_EQ(seen.size(), seen.rbegin()->first);
  }

  std::vector<std::string> common_ = {"ms=5", "silence=3000"};
  std::size_t least_ = 0;
  ProcessGroup group_;
};

TEST_F(Elastic, AnyMemberCanBeKilledTheFirstOneToo) {
  least_ = 1;
  start_group(4);
  group_.send_signal(0, SIGKILL);
  expect_progress({1, 2, 3});
  group_.send_signal(2, SIGKILL);
  expect_progress({1, 3});
  leave_all({1, 3});
  expect_one_model();
}

TEST_F(Elastic, TwoAreKilledAtOnce) {
  least_ = 1;
  start_group(5);
  group_.send_signal(0, SIGKILL);
  group_.send_signal(3, SIGKILL);
  expect_progress({1, 2, 4});
  leave_all({1, 2, 4});
  expect_one_model();
}

TEST_F(Elastic, AStoppedMemberIsLostAndEndsWhenItContinues) {
  least_ = 1;
  start_group(4);
  group_.send_signal(1, SIGSTOP);
  expect_progress({0, 2, 3});
  group_.send_signal(1, SIGCONT);
  EXPECT_TRUE(wait_for(1, "end removed"));
  leave_all({0, 2, 3});
  expect_one_model();
}

TEST_F(Elastic, NewcomersJoinWhileTheOthersTrain) {
  start_group(2);
  for (std::size_t i = 2; i < 5; ++i) {
    start({"join=" + address(i - 1)});
    ASSERT_TRUE(wait_for(i, "listening"));
    expect_progress({0, 1, i});
  }
  leave_all({0, 1, 2, 3, 4});
  expect_one_model();
}

TEST_F(Elastic, ADonorDiesWhileItGives) {
  least_ = 1;
  common_.insert(common_.end(), {"elements=400000", "rate=400000", "chunk=20000", "ms=20"});
  start_group(4);
  start({"join=" + address(0) + ',' + address(1)});
  // Every member is a donor. The newcomer is in the middle of 1.6 MB then.
  ASSERT_TRUE(wait_for(0, "a newcomer asks for the model"));
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_EQ(group_.out(4).find("listening"), std::string::npos);
  group_.send_signal(0, SIGKILL);
  expect_progress({1, 2, 3, 4});
  leave_all({1, 2, 3, 4});
  expect_one_model();
}

TEST_F(Elastic, OneLeavesInOrderAndTheOthersContinue) {
  start_group(3);
  common_.clear();
  group_.send_signal(1, SIGTERM);
  EXPECT_TRUE(wait_for(1, "end left"));
  // Two are fewer than three: they wait for a newcomer.
  start({"ms=5", "silence=3000", "least=3", "join=" + address(2)});
  expect_progress({0, 2, 3});
  leave_all({0, 2, 3});
  expect_one_model();
}

TEST_F(Elastic, AllStopAtTheLastStep) {
  common_.push_back("steps=40");
  start_group(3);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_TRUE(group_.wait_for_end(i, kPatience));
    EXPECT_EQ(group_.exit_code(i), 0) << group_.out(i) << group_.err(i);
    EXPECT_EQ(last_step(i), 40u);
  }
  expect_one_model();
}

// What they exchange are movements here, and the outer momentum is the same for newcomers.
TEST_F(Elastic, RoundsOfLocalSteps) {
  common_.push_back("spec=local(topk(5%), every=5, outer=nesterov(0.7, 0.5))");
  least_ = 1;
  start_group(3);
  group_.send_signal(0, SIGKILL);
  expect_progress({1, 2});
  start({"join=" + address(2)});
  ASSERT_TRUE(wait_for(3, "listening"));
  expect_progress({1, 2, 3});
  leave_all({1, 2, 3});
  expect_one_model();
}

TEST_F(Elastic, WithASecretAndAStranger) {
  const std::string directory = testing::TempDir();
  const std::string right = directory + "elastic-right", wrong = directory + "elastic-wrong";
  for (const std::string& file : {right, wrong}) {
    std::filesystem::remove(file);
    make_secret_file(file);
  }
  common_.push_back("secret=" + right);
  least_ = 1;
  start_group(3);
  common_.pop_back();  // least
  common_.back() = "secret=" + wrong;
  start({"join=" + address(0), "wait=1500"});
  EXPECT_TRUE(group_.wait_for_end(3, kPatience));
  EXPECT_NE(group_.err(3).find("could not join"), std::string::npos) << group_.err(3);
  group_.send_signal(0, SIGKILL);
  expect_progress({1, 2});
  leave_all({1, 2});
  expect_one_model();
}

TEST_F(Elastic, AMemberWithoutAQuorumEndsAfterItsDeadline) {
  least_ = 1;
  common_.insert(common_.end(), {"wait=1500"});
  start_group(2);
  group_.send_signal(0, SIGKILL);
  EXPECT_TRUE(wait_for(1, "end no quorum"));
  expect_one_model();
}

TEST_F(Elastic, ANewcomerWithOtherOptionsIsRefused) {
  start_group(2);
  common_.clear();
  start({"join=" + address(0), "elements=77", "wait=5000"});
  EXPECT_TRUE(group_.wait_for_end(2, kPatience));
  EXPECT_NE(group_.err(2).find("does not fit to the run"), std::string::npos) << group_.err(2);
  expect_progress({0, 1});
  leave_all({0, 1});
}

// Two hosts with several members: to the network one machine, to the run two, by their addresses.
class ElasticHosts : public Elastic, public testing::WithParamInterface<const char*> {
 protected:
  void start_on(const std::string& host, const std::vector<std::string>& join) {
    std::vector<std::string> words = {"listen=" + host + ":0"};
    if (!join.empty()) words.push_back("join=" + join.front());
    start(words);
    ASSERT_TRUE(wait_for(group_.size() - 1, "listening"));
  }
};

TEST_P(ElasticHosts, AnyMemberOfAHostCanBeKilled) {
  common_.insert(common_.end(), {"spec=" + std::string(GetParam()), "average=7", "least=1"});
  start_on("127.0.0.1", {});
  for (const char* host : {"127.0.0.1", "127.0.0.2", "127.0.0.2"}) start_on(host, {address(0)});
  expect_progress({0, 1, 2, 3}, 20);
  group_.send_signal(1, SIGKILL);  // only adds up
  expect_progress({0, 2, 3});
  start_on("127.0.0.1", {address(2)});
  expect_progress({0, 2, 3, 4}, 20);
  group_.send_signal(0, SIGKILL);  // exchanges for 4
  expect_progress({2, 3, 4});
  group_.send_signal(2, SIGKILL);  // exchanges for 3
  expect_progress({3, 4});
  start_on("127.0.0.2", {address(4)});
  expect_progress({3, 4, 5}, 20);
  group_.send_signal(4, SIGTERM);  // the host's last one leaves
  EXPECT_TRUE(wait_for(4, "end left"));
  expect_progress({3, 5});
  leave_all({3, 5});
  expect_one_model();
}

INSTANTIATE_TEST_SUITE_P(All, ElasticHosts,
                         testing::Values("ef(topk(5%) | natural)", "none", "diana(natural)"));

// The methods and topologies, and plain means in between.
class ElasticMethods : public Elastic, public testing::WithParamInterface<const char*> {};

TEST_P(ElasticMethods, AreRepeatedAndReplayed) {
  least_ = 1;
  const std::string both = GetParam();
  const std::size_t at = both.find(" on ");
  common_.insert(common_.end(), {"spec=" + both.substr(0, at), "topology=" + both.substr(at + 4),
                                 "average=7", "elements=3000"});
  start_group(4);
  group_.send_signal(1, SIGKILL);
  expect_progress({0, 2, 3});
  start({"join=" + address(2)});
  ASSERT_TRUE(wait_for(4, "listening"));
  expect_progress({0, 2, 3, 4}, 20);
  group_.send_signal(0, SIGKILL);
  expect_progress({2, 3, 4});
  leave_all({2, 3, 4});
  expect_one_model();
}

INSTANTIATE_TEST_SUITE_P(All, ElasticMethods,
                         testing::Values("ef(topk(5%)) on gather", "ef(topk(5%)) on scatter",
                                         "ef(topk(5%) | natural) on auto", "none on auto",
                                         "natural on scatter", "ef21(topk(5%)) on gather",
                                         "diana(natural) on scatter"));

}  // namespace
}  // namespace gradwire
