// What an exchange promises, on every topology: all ranks get the same bytes, the mean is the mean
// of what was sent, and what was sent can be walked.
#include "gradwire/collective/exchange.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <mutex>

#include "gradwire/collective/method_exchange.h"
#include "gradwire/collective/ring_exchange.h"
#include "gradwire/collective/test_support.h"

namespace gradwire {
namespace {

std::shared_ptr<const Codec> codec(const char* spec) { return make_codec(spec); }

// What all ranks ended with.
struct Outcome {
  std::vector<std::vector<std::vector<float>>> means;  // by rank, by tensor
  std::vector<std::vector<std::vector<float>>> own;    // decoded from the own message
  std::vector<ExchangeReport> reports;
};

struct Settings {
  std::size_t ranks = 2;
  std::vector<TensorSize> shapes = {{"weights", 10007}};
  ExchangeOptions options = {};
  std::vector<std::shared_ptr<const Codec>> each = {};  // instead of the options' codecs
  std::vector<float> weights = {};
  bool walks_own = true;
  std::uint64_t step = 0;
};

Outcome exchange_once(const Settings& settings) {
  Outcome outcome;
  outcome.means.resize(settings.ranks);
  outcome.own.resize(settings.ranks);
  outcome.reports.resize(settings.ranks);
  run_communicators(settings.ranks, [&](Communicator& communicator) {
    const std::size_t rank = communicator.rank();
    RankTensors tensors(rank, settings.shapes);
    const auto exchange = make_method_exchange(communicator, settings.shapes, settings.options,
                                               {.each = settings.each});
    ExchangeCall call = tensors.call(settings.step);
    if (!settings.weights.empty()) call.weight = settings.weights[rank];
    outcome.reports[rank] = exchange->run(call);
    outcome.means[rank] = tensors.means;
    if (!settings.walks_own) return;
    auto& own = outcome.own[rank];
    for (const TensorSize& shape : settings.shapes) own.emplace_back(shape.elements);
    Workspace workspace;
    exchange->walk_own([&](const Exchange::OwnPiece& piece) {
      const auto& [tensor, first, elements] = piece.of_tensor;
      const auto target = std::span(own[tensor]).subspan(first, elements);
      ASSERT_TRUE(piece.codec.decode(piece.payload, target, workspace));
    });
  });
  return outcome;
}

void expect_same_on_all_ranks(const Outcome& outcome) {
  for (std::size_t rank = 1; rank < outcome.means.size(); ++rank) {
    EXPECT_EQ(outcome.means[rank], outcome.means[0]) << "rank " << rank;
  }
}

// The weighted mean of the own messages, in double.
std::vector<double> mean_of_own(const Outcome& outcome, std::size_t tensor,
                                const std::vector<float>& weights) {
  std::vector<double> mean(outcome.own[0][tensor].size());
  double total = 0;
  for (std::size_t rank = 0; rank < outcome.own.size(); ++rank) {
    const double weight = weights.empty() ? 1.0 : double{weights[rank]};
    total += weight;
    for (std::size_t i = 0; i < mean.size(); ++i) {
      mean[i] += weight * double{outcome.own[rank][tensor][i]};
    }
  }
  for (double& value : mean) value /= total;
  return mean;
}

double distance(std::span<const float> a, std::span<const double> b) {
  double squares = 0, norm = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    squares += (double{a[i]} - b[i]) * (double{a[i]} - b[i]);
    norm += b[i] * b[i];
  }
  return std::sqrt(squares / (norm + 1e-30));
}

const char* const kUpCodecs[] = {"none",
                                 "natural",
                                 "qsgd(bits=4)",
                                 "natural | entropy",
                                 "terngrad(clip=off)",
                                 "topk(5%)",
                                 "randk(5%, seed=shared)",
                                 "sign",
                                 "topk(5%) | natural"};

TEST(ExchangeThread, MeanOfWhatWasSentIsExactWhereTheDownlinkIs) {
  for (const Topology topology :
       {Topology::scatter, Topology::server, Topology::gather, Topology::ring}) {
    for (const std::size_t ranks : {1u, 2u, 3u, 5u}) {
      for (const char* spec : kUpCodecs) {
        Settings settings{.ranks = ranks, .options = {.up = codec(spec), .topology = topology}};
        if (topology != Topology::gather && topology != Topology::ring) {
          settings.options.down = codec("none");
        }
        if (topology == Topology::ring && !settings.options.up->summable_from()) continue;
        SCOPED_TRACE(std::string(name(topology)) + ' ' + spec + ' ' + std::to_string(ranks));
        const Outcome outcome = exchange_once(settings);
        expect_same_on_all_ranks(outcome);
        EXPECT_LT(distance(outcome.means[0][0], mean_of_own(outcome, 0, {})), 1e-6);
      }
    }
  }
}

TEST(ExchangeThread, WeightsCountInTheMean) {
  const std::vector<float> weights = {1, 32, 0, 5.5F};
  for (const Topology topology :
       {Topology::scatter, Topology::server, Topology::gather, Topology::ring}) {
    Settings settings{.ranks = 4, .options = {.up = codec("none"), .topology = topology}};
    settings.weights = weights;
    const Outcome outcome = exchange_once(settings);
    expect_same_on_all_ranks(outcome);
    EXPECT_LT(distance(outcome.means[0][0], mean_of_own(outcome, 0, weights)), 1e-6)
        << name(topology);
  }
}

TEST(ExchangeThread, ManySmallTensorsShareFrames) {
  std::vector<TensorSize> shapes;
  for (std::size_t i = 0; i < 100; ++i) {
    shapes.push_back({"t" + std::to_string(i), (i * i * 37) % 3000});
  }
  for (const char* spec : kUpCodecs) {
    SCOPED_TRACE(spec);
    Settings settings{.ranks = 3, .shapes = shapes, .options = {.up = codec(spec)}};
    settings.options.topology = Topology::scatter;
    settings.options.down = codec("none");
    settings.options.segment_elements_max = 4096;
    const Outcome outcome = exchange_once(settings);
    expect_same_on_all_ranks(outcome);
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      EXPECT_LT(distance(outcome.means[0][i], mean_of_own(outcome, i, {})), 1e-6);
    }
  }
}

// Each tensor is treated as if it travelled alone: random numbers are its own.
TEST(ExchangeThread, TensorsMayHaveCodecsOfTheirOwn) {
  const std::vector<TensorSize> shapes = {{"a", 3000}, {"b", 5000}, {"c", 40}, {"d", 2000}};
  const std::vector<const char*> specs = {"topk(5%)", "qsgd(bits=4)", "none", "topk(20%)"};
  for (const Topology topology : {Topology::gather, Topology::server, Topology::scatter}) {
    SCOPED_TRACE(name(topology));
    Settings mixed{.ranks = 3, .shapes = shapes, .options = {.topology = topology, .seed = 5}};
    for (const char* spec : specs) mixed.each.push_back(codec(spec));
    const Outcome outcome = exchange_once(mixed);
    expect_same_on_all_ranks(outcome);
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      const Settings alone{.ranks = 3,
                           .shapes = {shapes.begin(), shapes.begin() + static_cast<int>(i) + 1},
                           .options = {.up = codec(specs[i]), .topology = topology, .seed = 5}};
      const Outcome expected = exchange_once(alone);
      for (std::size_t rank = 0; rank < 3; ++rank) {
        EXPECT_EQ(outcome.own[rank][i], expected.own[rank][i]);
        // By scatter owners have other parts, which are rounded by themselves.
        if (topology == Topology::scatter) continue;
        EXPECT_EQ(outcome.means[rank][i], expected.means[rank][i]) << specs[i];
      }
    }
  }
}

TEST(ExchangeThread, DedicatedServerGivesNothing) {
  Settings settings{.ranks = 3, .options = {.up = codec("none"), .topology = Topology::server}};
  settings.options.server = 1;
  settings.options.server_contributes = false;
  settings.walks_own = false;
  const Outcome outcome = exchange_once(settings);
  expect_same_on_all_ranks(outcome);
  const auto a = rank_values(0, 0, 10007), b = rank_values(2, 0, 10007);
  for (std::size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(outcome.means[0][0][i], 0.5F * a[i] + 0.5F * b[i]);
  }
}

// 4 standard errors at a fixed seed, over 400 steps.
TEST(ExchangeThread, RequantisedMeansStayUnbiased) {
  constexpr std::size_t kSteps = 400, kElements = 1000;
  for (const Topology topology : {Topology::scatter, Topology::ring}) {
    for (const char* spec : {"natural", "qsgd(bits=3)", "natural_dither(levels=4)", "randk(20%)"}) {
      SCOPED_TRACE(std::string(name(topology)) + ' ' + spec);
      const std::vector<TensorSize> shapes = {{"weights", kElements}};
      std::vector<double> sum(kElements), squares(kElements), truth(kElements);
      run_communicators(3, [&](Communicator& communicator) {
        RankTensors tensors(communicator.rank(), shapes);
        const auto exchange =
            make_exchange(communicator, shapes, {.up = codec(spec), .topology = topology});
        for (std::size_t step = 0; step < kSteps; ++step) {
          exchange->run(tensors.call(step));
          if (communicator.rank() != 0) continue;
          for (std::size_t i = 0; i < kElements; ++i) {
            const double value{tensors.means[0][i]};
            sum[i] += value;
            squares[i] += value * value;
          }
        }
      });
      for (std::size_t rank = 0; rank < 3; ++rank) {
        const auto values = rank_values(rank, 0, kElements);
        for (std::size_t i = 0; i < kElements; ++i) truth[i] += double{values[i]} / 3;
      }
      double bias = 0, variance = 0;
      for (std::size_t i = 0; i < kElements; ++i) {
        const double mean = sum[i] / kSteps;
        bias += (mean - truth[i]) * (mean - truth[i]);
        variance += (squares[i] / kSteps - mean * mean) / kSteps;
      }
      // Of a sum of 1000 squares of about unit variance, this is far more than 4 standard errors.
      EXPECT_LT(bias, variance * 1.3);
      EXPECT_GT(bias, variance * 0.7);
    }
  }
}

TEST(ExchangeThread, RoundingRingStaysBelowItsOmega) {
  constexpr std::size_t kRanks = 4, kSteps = 50;
  const std::vector<TensorSize> shapes = {{"weights", 4096}};
  const auto up = codec("qsgd(bits=3, norm=l2, bucket=512)");
  double error = 0, norms = 0;
  std::vector<double> truth(4096);
  for (std::size_t rank = 0; rank < kRanks; ++rank) {
    const auto values = rank_values(rank, 0, 4096);
    for (std::size_t i = 0; i < values.size(); ++i) {
      truth[i] += double{values[i]} / kRanks;
      norms += double{values[i]} * double{values[i]} / kRanks;
    }
  }
  run_communicators(kRanks, [&](Communicator& communicator) {
    RankTensors tensors(communicator.rank(), shapes);
    const auto exchange =
        make_exchange(communicator, shapes, {.up = up, .topology = Topology::ring});
    for (std::size_t step = 0; step < kSteps; ++step) {
      exchange->run(tensors.call(step));
      if (communicator.rank() != 0) continue;
      for (std::size_t i = 0; i < truth.size(); ++i) {
        const double off = double{tensors.means[0][i]} - truth[i];
        error += off * off / kSteps;
      }
    }
  });
  EXPECT_LT(error, ring_omega(up->guarantee(4096).constant, kRanks) * norms);
}

TEST(ExchangeThread, OneBadValuePoisonsTheExchangeOnAllRanks) {
  for (const Topology topology :
       {Topology::scatter, Topology::server, Topology::gather, Topology::ring}) {
    for (const char* spec : kUpCodecs) {
      const auto up = codec(spec);
      if (topology == Topology::ring && !up->summable_from() &&
          up->guarantee(10007).kind != Guarantee::Kind::unbiased) {
        continue;
      }
      SCOPED_TRACE(std::string(name(topology)) + ' ' + spec);
      const std::vector<TensorSize> shapes = {{"a", 10007}, {"b", 300}};
      std::vector<int> poisoned(3);
      run_communicators(3, [&](Communicator& communicator) {
        RankTensors tensors(communicator.rank(), shapes);
        if (communicator.rank() == 1) {
          tensors.values[0][777] = std::numeric_limits<float>::quiet_NaN();
        }
        const auto exchange = make_exchange(communicator, shapes, {.up = up, .topology = topology});
        poisoned[communicator.rank()] = exchange->run(tensors.call()).poisoned;
        tensors.values[0][777] = 1;
        EXPECT_FALSE(exchange->run(tensors.call(1)).poisoned);
      });
      EXPECT_EQ(poisoned, std::vector<int>({1, 1, 1}));
    }
  }
}

// Remembers what it was given, and sends twice the mean.
class DoublingPort final : public OwnerPort {
 public:
  void prepare(const TensorPiece&, std::span<const float> mean, std::span<float> wanted) override {
    for (std::size_t i = 0; i < mean.size(); ++i) wanted[i] = 2 * mean[i];
    ++prepared;
  }
  void commit(const TensorPiece& piece, std::span<const float> mean,
              std::span<const float> sent) override {
    EXPECT_EQ(mean.size(), piece.elements);
    for (std::size_t i = 0; i < mean.size(); ++i) {
      EXPECT_LE(std::abs(2 * mean[i] - sent[i]), std::abs(2 * mean[i]));
    }
    ++committed;
  }
  int prepared = 0;
  int committed = 0;
};

TEST(ExchangeThread, OwnersPortDecidesWhatGoesDown) {
  for (const Topology topology : {Topology::scatter, Topology::server}) {
    for (const bool is_bad : {false, true}) {
      const std::vector<TensorSize> shapes = {{"weights", 10007}};
      std::vector<std::vector<float>> means(2);
      run_communicators(2, [&](Communicator& communicator) {
        RankTensors tensors(communicator.rank(), shapes);
        if (is_bad) tensors.values[0][5] = std::numeric_limits<float>::infinity();
        const auto exchange = make_method_exchange(
            communicator, shapes,
            {.up = codec("none"), .down = codec("natural"), .topology = topology}, {});
        DoublingPort port;
        exchange->start(tensors.call(), {.owner = &port});
        EXPECT_EQ(exchange->finish().poisoned, is_bad);
        means[communicator.rank()] = tensors.means[0];
        const bool is_owner = topology == Topology::scatter || communicator.rank() == 0;
        EXPECT_EQ(port.prepared > 0, is_owner);
        EXPECT_EQ(port.committed > 0, is_owner && !is_bad);
      });
      if (is_bad) continue;
      EXPECT_EQ(means[0], means[1]);
      const auto a = rank_values(0, 0, 10007), b = rank_values(1, 0, 10007);
      for (std::size_t i = 0; i < a.size(); ++i) {
        const float wanted = std::abs(a[i] + b[i]);
        ASSERT_LE(std::abs(means[0][i]), 2 * wanted);
        ASSERT_GE(std::abs(means[0][i]), wanted / 2);
      }
    }
  }
}

TEST(ExchangeThread, WorksInPlace) {
  for (const Topology topology :
       {Topology::scatter, Topology::server, Topology::gather, Topology::ring}) {
    const std::vector<TensorSize> shapes = {{"weights", 50000}};
    Settings settings{.ranks = 3,
                      .shapes = shapes,
                      .options = {.up = codec("natural"), .topology = topology},
                      .walks_own = false};
    settings.options.segment_elements_max = 1024;
    const Outcome apart = exchange_once(settings);
    std::vector<std::vector<float>> means(3);
    run_communicators(3, [&](Communicator& communicator) {
      std::vector<float> tensor = rank_values(communicator.rank(), 0, 50000);
      const std::vector<std::span<float>> mean = {tensor};
      const std::vector<std::span<const float>> values = {tensor};
      const auto exchange = make_exchange(communicator, shapes, settings.options);
      exchange->run({.values = values, .means = mean});
      means[communicator.rank()] = tensor;
    });
    for (std::size_t rank = 0; rank < 3; ++rank) EXPECT_EQ(means[rank], apart.means[rank][0]);
  }
}

TEST(ExchangeThread, SegmentsDoNotChangeTheResult) {
  for (const char* spec : {"natural", "qsgd(bits=4)", "topk(1%)", "sign"}) {
    std::vector<std::vector<float>> means;
    for (const std::size_t segment : {1000u, 4096u, 1u << 20}) {
      Settings settings{.ranks = 2, .options = {.up = codec(spec), .topology = Topology::scatter}};
      settings.shapes = {{"weights", 100000}};
      settings.options.segment_elements_max = segment;
      means.push_back(exchange_once(settings).means[0][0]);
    }
    EXPECT_EQ(means[1], means[0]) << spec;
    EXPECT_EQ(means[2], means[0]) << spec;
  }
}

TEST(ExchangeThread, BytesAreCounted) {
  for (const Topology topology :
       {Topology::scatter, Topology::server, Topology::gather, Topology::ring}) {
    Settings settings{.ranks = 4, .options = {.up = codec("none"), .topology = topology}};
    const Outcome outcome = exchange_once(settings);
    std::uint64_t sent = 0, received = 0;
    for (const ExchangeReport& report : outcome.reports) {
      sent += report.traffic.bytes_sent;
      received += report.traffic.bytes_received;
    }
    EXPECT_EQ(sent, received) << name(topology);
    const std::uint64_t least = topology == Topology::gather ? 12 * 40028u : 6 * 40028u;
    EXPECT_GE(sent, least) << name(topology);
    EXPECT_LT(sent, least + 3 * 40028u / 10) << name(topology);
  }
}

// An owner does not compress what it sends to itself, but reports it as if it did.
TEST(ExchangeThread, TheOwnPartCountsAsIfItWereSent) {
  for (const std::size_t ranks : {2u, 4u}) {
    Settings settings{.ranks = ranks, .options = {.up = codec("natural | entropy")}};
    settings.shapes = {{"weights", 1u << 18}, {"more", 1u << 17}};
    settings.options.topology = Topology::gather;  // all of a message is sent
    const Outcome sent = exchange_once(settings);
    settings.options.topology = Topology::scatter;
    const Outcome outcome = exchange_once(settings);
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      EXPECT_EQ(outcome.own[rank], sent.own[rank]);
      const auto exact = static_cast<double>(sent.reports[rank].traffic.message_bytes);
      EXPECT_NEAR(static_cast<double>(outcome.reports[rank].traffic.message_bytes), exact,
                  0.01 * exact);
    }
  }
}

TEST(ExchangeThread, SparseVolumeDoesNotGrowWithTheRanks) {
  std::vector<std::uint64_t> bytes;
  for (const std::size_t ranks : {2u, 16u}) {
    Settings settings{.ranks = ranks,
                      .options = {.up = codec("topk(1%)"), .topology = Topology::scatter},
                      .walks_own = false};
    settings.shapes = {{"weights", 1u << 20}};
    const Outcome outcome = exchange_once(settings);
    std::uint64_t most = 0;
    for (const ExchangeReport& report : outcome.reports) {
      most = std::max(most, report.traffic.bytes_sent);
    }
    bytes.push_back(most);
  }
  EXPECT_LT(static_cast<double>(bytes[1]), 2.2 * static_cast<double>(bytes[0]));
}

TEST(ExchangeThread, SeveralAreInFlightInOrder) {
  run_communicators(3, [&](Communicator& communicator) {
    std::vector<std::unique_ptr<RankTensors>> tensors;
    std::vector<std::unique_ptr<Exchange>> exchanges;
    for (std::size_t i = 0; i < 5; ++i) {
      const std::vector<TensorSize> shapes = {{"bucket", 1000 * (i + 1)}};
      tensors.push_back(std::make_unique<RankTensors>(communicator.rank(), shapes));
      exchanges.push_back(make_exchange(communicator, shapes, {.up = codec("none")}));
    }
    for (std::uint64_t step = 0; step < 3; ++step) {
      for (std::size_t i = 0; i < 5; ++i) exchanges[i]->start(tensors[i]->call(step));
      for (std::size_t i = 0; i < 5; ++i) exchanges[i]->finish();
    }
    for (std::size_t i = 0; i < 5; ++i) {
      double sum = 0;
      for (std::size_t rank = 0; rank < 3; ++rank) {
        sum += double{rank_values(rank, 0, 1000 * (i + 1))[17]};
      }
      EXPECT_NEAR(tensors[i]->means[0][17], sum / 3, 1e-6);
    }
  });
}

TEST(ExchangeThread, CodecsOfTheirOwnAreRefusedOnARing) {
  run_communicators(2, [](Communicator& communicator) {
    EXPECT_THROW(
        make_method_exchange(communicator, {{"a", 10}, {"b", 20}}, {.topology = Topology::ring},
                             {.each = {codec("none"), codec("qsgd(bits=4)")}}),
        Error);
  });
}

TEST(ExchangeThread, OptionsThatMakeNoSenseAreRefused) {
  run_communicators(2, [&](Communicator& communicator) {
    const auto refused = [&](const ExchangeOptions& options) {
      EXPECT_THROW(make_exchange(communicator, {{"weights", 100}}, options), Error);
    };
    refused({.up = codec("topk(10%)"), .topology = Topology::ring});
    refused({.up = codec("natural"), .down = codec("natural"), .topology = Topology::gather});
    refused({.up = codec("none"), .down = codec("natural"), .topology = Topology::ring});
    refused({.up = codec("none"), .topology = Topology::server, .server = 2});
    EXPECT_THROW(make_exchange(communicator, {{"same", 1}, {"same", 2}}, {.up = codec("none")}),
                 Error);
  });
}

TEST(Topology, NamesGoBothWays) {
  EXPECT_EQ(topology_of("ring"), Topology::ring);
  EXPECT_EQ(topology_of(name(Topology::automatic)), Topology::automatic);
  EXPECT_THROW(topology_of("rign"), Error);
}

TEST(Topology, AutomaticChoiceFollowsTheBytes) {
  EXPECT_EQ(choose_topology(1 << 20, 8, *codec("none"), nullptr), Topology::ring);
  EXPECT_EQ(choose_topology(1 << 20, 8, *codec("qsgd(bits=4)"), nullptr), Topology::scatter);
  EXPECT_EQ(choose_topology(1 << 20, 2, *codec("qsgd(bits=4)"), nullptr), Topology::gather);
  EXPECT_EQ(choose_topology(100, 8, *codec("qsgd(bits=4)"), nullptr), Topology::gather);
  EXPECT_EQ(choose_topology(100, 8, *codec("qsgd(bits=4)"), codec("natural").get()),
            Topology::scatter);
}

}  // namespace
}  // namespace gradwire
