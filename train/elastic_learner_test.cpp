// Members of an elastic run without a group: what they compute is averaged here, exactly.
#include "train/elastic_learner.h"

#include <algorithm>
#include <memory>

#include "data/source.h"
#include "gradwire/core/error.h"
#include "gradwire/file/test_directory.h"
#include "gtest/gtest.h"

namespace gradwire::train {
namespace {

std::shared_ptr<const data::Source> images() {
  static const std::shared_ptr<const data::Source> source = data::open_source("generated", {});
  return source;
}

using Lost = std::vector<std::size_t>;

// An update that newcomers can replay.
struct Past {
  ElasticUpdate update;
  std::vector<std::vector<float>> values;
};

class Members {
 public:
  explicit Members(std::size_t count, const char* model = "mlp(hidden=16)",
                   ElasticLearner::Plan plan = {.steps = 40, .evaluate_every = 10})
      : task_(images(),
              {.model = model, .batch = 96, .optimiser = parse_optimiser("sgd(momentum=0.9)")}),
        plan_(plan) {
    for (std::size_t i = 0; i < count; ++i) add();
  }

  ElasticLearner& operator[](std::size_t member) { return *learners_[member]; }
  std::size_t size() const { return learners_.size(); }
  bool is_done() const { return learners_.front()->next_work() == ElasticLearner::Work::none; }

  // A turn of all. Members at the given places are lost in it, and are gone then. The last
  // `newcomers` have no share.
  void turn(const Lost& lost = {}, std::size_t newcomers = 0) {
    const bool is_average = learners_.front()->next_work() == ElasticLearner::Work::average;
    const std::size_t shares = size() - newcomers;
    std::vector<std::vector<double>> sums;
    for (std::size_t i = 0; i < size(); ++i) {
      ElasticTurn turn{.shares = shares};
      if (i < shares) turn.share = i;
      std::span<const std::span<float>> values;
      double weight = 1.0 / static_cast<double>(size() - lost.size());
      if (is_average) {
        values = learners_[i]->compute_average(turn);
      } else {
        const auto computed = learners_[i]->compute(turn);
        values = learners_[i]->gradients();
        weight = static_cast<double>(computed.samples) / 96;
      }
      if (std::ranges::find(lost, i) != lost.end()) continue;
      sums.resize(values.size());
      for (std::size_t t = 0; t < values.size(); ++t) {
        sums[t].resize(values[t].size());
        for (std::size_t j = 0; j < values[t].size(); ++j)
          sums[t][j] += weight * double{values[t][j]};
      }
    }
    Past past{.update = {.is_average = is_average, .shares = shares, .lost_shares = lost},
              .values = {}};
    for (const auto& sum : sums) past.values.emplace_back(sum.begin(), sum.end());
    for (auto at = lost.rbegin(); at != lost.rend(); ++at) {
      learners_.erase(learners_.begin() + static_cast<std::ptrdiff_t>(*at));
    }
    for (auto& learner : learners_) apply(past, *learner, false);
    history_.push_back(std::move(past));
  }

  // From the state `state` of the past, by the updates since.
  void join(std::span<const std::byte> state, std::size_t since) {
    add();
    learners_.back()->load(state);
    for (std::size_t i = since; i < history_.size(); ++i)
      apply(history_[i], *learners_.back(), true);
  }
  std::size_t turns() const { return history_.size(); }

  void expect_same() {
    for (auto& learner : learners_) {
      EXPECT_EQ(learner->hash(), learners_.front()->hash());
      EXPECT_EQ(learner->save(), learners_.front()->save());
    }
  }

 private:
  void add() {
    learners_.push_back(std::make_unique<ElasticLearner>(task_, plan_, MethodTraits()));
  }

  static void apply(const Past& past, ElasticLearner& learner, bool is_replay) {
    std::vector<std::vector<float>> copies = past.values;
    std::vector<std::span<float>> outputs(copies.begin(), copies.end());
    ElasticUpdate update = past.update;
    update.outputs = outputs;
    update.is_replay = is_replay;
    learner.apply(update);
  }

  Task task_;
  ElasticLearner::Plan plan_;
  std::vector<std::unique_ptr<ElasticLearner>> learners_;
  std::vector<Past> history_;
};

TEST(ElasticLearner, TheNumberOfMembersDoesNotChangeWhatIsLearned) {
  Members alone(1), five(5);
  while (!alone.is_done()) alone.turn();
  while (!five.is_done()) five.turn();
  five.expect_same();
  EXPECT_EQ(five[0].steps_done(), 40u);
  for (std::size_t i = 0; i < alone[0].model().values().size(); ++i) {
    ASSERT_NEAR(alone[0].model().values()[i], five[0].model().values()[i], 1e-4);
  }
  ASSERT_TRUE(alone[0].metrics().accuracy);
  EXPECT_NEAR(*alone[0].metrics().accuracy, *five[0].metrics().accuracy, 0.01);
  EXPECT_GT(*alone[0].metrics().accuracy, 0.2);  // by chance 0.1
}

TEST(ElasticLearner, LossesAndNewcomersLeaveOneModel) {
  for (const char* model : {"mlp(hidden=16, dropout=0.2)", "resnet18(width=2)"}) {
    Members members(3, model, {.steps = 8, .evaluate_every = 3});
    std::vector<std::byte> state;
    std::size_t state_at = 0;
    for (std::size_t t = 0; !members.is_done(); ++t) {
      if (t == 2) {
        state = members[1].save();
        state_at = members.turns();
      }
      if (t == 4) {
        members.join(state, state_at);
        members.turn({}, 1);  // it has no share yet
      } else {
        members.turn(t == 3 ? Lost{0, 2} : Lost());
      }
      members.expect_same();
    }
    EXPECT_EQ(members.size(), 2u);
    EXPECT_EQ(members[0].steps_done(), 8u);
    EXPECT_TRUE(members[1].metrics().accuracy);
  }
}

TEST(ElasticLearner, StatisticsOfMembersBecomeTheirMean) {
  Members members(2, "resnet18(width=2)", {.steps = 2});
  members.turn();
  members.turn();
  const auto statistic = [&](std::size_t member) {
    return members[member].model().statistics()[0];
  };
  const float mean = (statistic(0) + statistic(1)) / 2;
  EXPECT_NE(statistic(0), statistic(1));
  EXPECT_EQ(members[0].next_work(), ElasticLearner::Work::average);
  members.turn();
  EXPECT_EQ(statistic(0), statistic(1));
  EXPECT_NEAR(statistic(0), mean, 1e-6);
  EXPECT_EQ(members[0].next_work(), ElasticLearner::Work::average);
  members.turn();
  EXPECT_TRUE(members[0].is_farewell());
  members.turn();
  EXPECT_TRUE(members.is_done());
}

TEST(ElasticLearner, PoisonedStepCountsAndChangesNothing) {
  Members members(1);
  const auto before =
      std::vector(members[0].model().values().begin(), members[0].model().values().end());
  members[0].compute({.share = 0});
  members[0].apply({.outputs = members[0].gradients(), .is_poisoned = true});
  EXPECT_TRUE(std::ranges::equal(members[0].model().values(), before));
  EXPECT_EQ(members[0].steps_done(), 1u);
}

TEST(ElasticLearner, StateOfAnotherRunIsRefused) {
  Members members(1), others(1, "mlp(hidden=17)");
  const auto load = [&](std::span<const std::byte> bytes) {
    return message_of<Error>([&] { members[0].load(bytes); });
  };
  EXPECT_NE(load(others[0].save()).find("of the model mlp(hidden=17"), std::string::npos);
  EXPECT_NE(load({}).find("cannot be read"), std::string::npos);
}

}  // namespace
}  // namespace gradwire::train
