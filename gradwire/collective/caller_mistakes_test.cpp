// A caller's mistakes are errors that say what was wrong; they do not end the program.
#include <gtest/gtest.h>

#include <limits>

#include "gradwire/collective/exchange.h"
#include "gradwire/collective/test_support.h"
#include "gradwire/core/error_test_support.h"

namespace gradwire {
namespace {

TEST(CollectiveMistakes, OfMakingACommunicator) {
  EXPECT_EQ(error_of([] { Communicator(nullptr, {}); }),
            "a communicator needs a transport, such as InProcessWorld::join()");
  InProcessWorld world(1);
  EXPECT_EQ(error_of([&] {
              Communicator(world.join(0), {.peer_timeout = std::chrono::milliseconds(0)});
            }),
            "a peer timeout of 0 ms leaves peers no time to answer: take seconds");
}

TEST(CollectiveMistakesThread, OfMakingAnExchange) {
  run_communicators(2, [](Communicator& communicator) {
    const auto refusal = [&](const ExchangeOptions& options) {
      return error_of([&] { make_exchange(communicator, {{"weights", 100}}, options); });
    };
    EXPECT_EQ(refusal({}),
              "an exchange needs a codec: set ExchangeOptions::up, such as make_codec(\"none\")");
    EXPECT_EQ(refusal({.up = make_codec("none"), .topology = Topology::server, .server = 2}),
              "topology server: there is no rank 2 among 2 to be the server");
  });
}

TEST(CollectiveMistakesThread, OfCallsLeaveTheExchangeUsable) {
  run_communicators(2, [](Communicator& communicator) {
    const std::vector<TensorSize> shapes = {{"a", 100}, {"b", 20}};
    RankTensors tensors(communicator.rank(), shapes);
    const auto exchange = make_exchange(communicator, shapes, {.up = make_codec("none")});
    EXPECT_EQ(error_of([&] { exchange->finish(); }),
              "an exchange has nothing to finish: call start() first");
    const auto refusal = [&](const ExchangeCall& call) {
      return error_of([&] { exchange->start(call); });
    };
    ExchangeCall call = tensors.call();
    call.values = std::span(tensors.value_spans).first(1);
    EXPECT_EQ(refusal(call), "an exchange of 2 tensors got values for 1");
    std::vector<std::span<float>> means = {tensors.means[1], tensors.means[0]};
    call = tensors.call();
    call.means = means;
    EXPECT_EQ(refusal(call), "tensor 'a' has 100 elements, but its means have 20");
    for (const float weight : {-1.0F, std::numeric_limits<float>::quiet_NaN()}) {
      call = tensors.call();
      call.weight = weight;
      EXPECT_EQ(refusal(call), "the weight of a rank's values must be a number from 0 on");
    }
    exchange->start(tensors.call());
    EXPECT_EQ(refusal(tensors.call()),
              "an exchange was started again before its last call was finished: call finish()");
    exchange->finish();
    EXPECT_NEAR(tensors.means[0][3], (rank_values(0, 0, 100)[3] + rank_values(1, 0, 100)[3]) / 2,
                1e-6);
  });
}

}  // namespace
}  // namespace gradwire
