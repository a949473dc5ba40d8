// Exchanges that are under way at the same time: each gives what it gives alone, bit for bit, and
// has a poison of its own; a failure ends all of them.
#include <gtest/gtest.h>

#include <chrono>
#include <limits>

#include "gradwire/collective/test_support.h"

namespace gradwire {
namespace {

constexpr std::size_t kRanks = 3;
constexpr std::uint64_t kSteps = 3;

struct Kind {
  Topology topology;
  const char* codec;
};

// All topologies at once, some of them twice.
constexpr Kind kKinds[] = {
    {Topology::scatter, "qsgd(bits=4)"},
    {Topology::ring, "none"},
    {Topology::gather, "natural | entropy"},
    {Topology::server, "topk(5%)"},
    {Topology::ring, "natural"},
    {Topology::scatter, "topk(1%)"},
    {Topology::ring, "randk(20%, seed=shared)"},
};

// One rank's exchanges, one for each kind.
class Exchanges {
 public:
  explicit Exchanges(Communicator& communicator) {
    for (std::size_t i = 0; i < std::size(kKinds); ++i) {
      const std::vector<TensorSize> shapes = {{"large", 20'000 + 3000 * i}, {"small", 100}};
      tensors_.emplace_back(communicator.rank(), shapes);
      exchanges_.push_back(make_exchange(communicator, shapes,
                                         {.up = make_codec(kKinds[i].codec),
                                          .topology = kKinds[i].topology,
                                          .segment_elements_max = 4096}));
    }
  }

  std::size_t size() const { return exchanges_.size(); }
  RankTensors& tensors(std::size_t i) { return tensors_[i]; }
  void start(std::size_t i, std::uint64_t step) { exchanges_[i]->start(tensors_[i].call(step)); }
  ExchangeReport finish(std::size_t i) { return exchanges_[i]->finish(); }

  void run_together(std::uint64_t step) {
    for (std::size_t i = 0; i < size(); ++i) start(i, step);
    for (std::size_t i = 0; i < size(); ++i) finish(i);
  }
  void run_one_by_one(std::uint64_t step) {
    for (std::size_t i = 0; i < size(); ++i) {
      start(i, step);
      finish(i);
    }
  }
  std::vector<std::vector<float>> means() const {
    std::vector<std::vector<float>> all;
    for (const RankTensors& tensors : tensors_) {
      all.insert(all.end(), tensors.means.begin(), tensors.means.end());
    }
    return all;
  }

 private:
  std::vector<RankTensors> tensors_;
  std::vector<std::unique_ptr<Exchange>> exchanges_;
};

TEST(Overlap, GivesTheSameBitsAsOneByOne) {
  run_communicators(kRanks, [](Communicator& communicator) {
    Exchanges exchanges(communicator);
    for (std::uint64_t step = 0; step < kSteps; ++step) {
      exchanges.run_one_by_one(step);
      const auto one_by_one = exchanges.means();
      exchanges.run_together(step);
      EXPECT_EQ(exchanges.means(), one_by_one) << "step " << step;
    }
  });
}

TEST(Overlap, MayBeFinishedInAnyOrder) {
  run_communicators(kRanks, [](Communicator& communicator) {
    Exchanges exchanges(communicator);
    exchanges.run_one_by_one(0);
    const auto one_by_one = exchanges.means();
    for (std::size_t i = 0; i < exchanges.size(); ++i) exchanges.start(i, 0);
    for (std::size_t i = exchanges.size(); i > 0; --i) exchanges.finish(i - 1);
    EXPECT_EQ(exchanges.means(), one_by_one);
  });
}

TEST(Overlap, PoisonIsThatOfOneExchange) {
  run_communicators(kRanks, [](Communicator& communicator) {
    Exchanges exchanges(communicator);
    exchanges.run_together(0);
    for (std::size_t bad = 0; bad < exchanges.size(); ++bad) {
      float& value = exchanges.tensors(bad).values[0][7];
      const float good = value;
      if (communicator.rank() == 1) value = std::numeric_limits<float>::quiet_NaN();
      for (std::size_t i = 0; i < exchanges.size(); ++i) exchanges.start(i, 1);
      for (std::size_t i = 0; i < exchanges.size(); ++i) {
        EXPECT_EQ(exchanges.finish(i).poisoned, i == bad) << "exchange " << i;
      }
      value = good;
    }
  });
}

// The time of the progress thread is divided among the exchanges, so it is not counted twice.
TEST(Overlap, TimesAddUpToNoMoreThanTheStep) {
  run_communicators(kRanks, [](Communicator& communicator) {
    Exchanges exchanges(communicator);
    const auto begin = std::chrono::steady_clock::now();
    double seconds = 0;
    for (std::size_t i = 0; i < exchanges.size(); ++i) exchanges.start(i, 0);
    for (std::size_t i = 0; i < exchanges.size(); ++i) {
      const Phases phases = exchanges.finish(i).phases;
      seconds += phases.encode_seconds + phases.exchange_seconds + phases.decode_seconds;
    }
    const std::chrono::duration<double> step = std::chrono::steady_clock::now() - begin;
    EXPECT_LE(seconds, step.count());
  });
}

// Rank 1 ends while the others have everything under way.
TEST(Overlap, AFailureEndsAllExchangesWithItsCause) {
  InProcessWorld world(kRanks);
  run_ranks(kRanks, [&](std::size_t rank) {
    Communicator communicator(world.join(rank), {.run = 7});
    Exchanges exchanges(communicator);
    exchanges.run_together(0);
    if (rank == 1) return;
    for (std::size_t i = 0; i < exchanges.size(); ++i) exchanges.start(i, 1);
    for (std::size_t i = 0; i < exchanges.size(); ++i) {
      try {
        exchanges.finish(i);
        ADD_FAILURE() << "exchange " << i << " did not fail";
      } catch (const PeerError& error) {
        EXPECT_EQ(error.rank(), 1u) << error.what();
      }
    }
  });
}

}  // namespace
}  // namespace gradwire
