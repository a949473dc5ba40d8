#include "gradwire/collective/agreement.h"

#include <gtest/gtest.h>

#include <atomic>

#include "gradwire/collective/test_support.h"

namespace gradwire {
namespace {

using namespace std::chrono_literals;

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// What comparing the facts of each rank threw there; empty where nothing was.
std::vector<std::string> compare(const std::vector<std::vector<Fact>>& facts) {
  std::vector<std::string> thrown(facts.size());
  run_transports(in_process_transports(facts.size()), [&](Transport& transport) {
    Presence presence(transport, 10s);
    Agreement agreement(transport, presence);
    try {
      agreement.compare(facts[transport.rank()]);
    } catch (const StartError& error) {
      thrown[transport.rank()] = error.what();
    }
    agreement.compare({{"goodbye", ""}});  // nobody is left behind in another round
    presence.leave();
  });
  return thrown;
}

TEST(AgreementThread, SameFactsAreNoDifference) {
  const std::vector<Fact> facts = {{"codec", "natural"}, {"seed", "7"}, {"nothing", ""}};
  for (const std::size_t ranks : {1u, 2u, 5u}) {
    for (const std::string& thrown : compare({ranks, facts})) EXPECT_EQ(thrown, "");
  }
}

TEST(AgreementThread, DifferenceIsNamedOnAllRanks) {
  const std::vector<Fact> most = {{"codec", "natural"}, {"seed", "7"}, {"length", "10"}};
  const std::vector<Fact> other = {{"codec", "natural"}, {"seed", "8"}, {"length", "11"}};
  const std::vector<std::string> thrown = compare({most, other, most});
  EXPECT_TRUE(has(thrown[0], "rank 1 (thread 1) has seed 8, this rank has 7")) << thrown[0];
  EXPECT_EQ(thrown[2], thrown[0]);
  EXPECT_TRUE(has(thrown[1], "rank 0 (thread 0) has seed 7, this rank has 8")) << thrown[1];
  for (const std::string& what : thrown) EXPECT_FALSE(has(what, "length")) << what;
}

TEST(AgreementThread, OtherCallsInThisPlaceAreNamed) {
  const std::vector<std::string> thrown =
      compare({{{"barrier", ""}}, {{"topology", "ring"}, {"seed", "1"}}});
  EXPECT_TRUE(has(thrown[0],
                  "rank 1 (thread 1) speaks of topology where this rank speaks of "
                  "barrier: all ranks must make the same calls in the same order"))
      << thrown[0];
  EXPECT_TRUE(has(thrown[1], "speaks of barrier where this rank speaks of topology")) << thrown[1];
}

TEST(AgreementThread, MoreFactsAreADifference) {
  const std::vector<std::string> thrown = compare({{{"a", "1"}, {"b", "2"}}, {{"a", "1"}}});
  for (const std::string& what : thrown) EXPECT_TRUE(has(what, "another version")) << what;
}

// Long values are told by their beginning and a checksum of all.
TEST(AgreementThread, DifferenceAtTheEndOfALongValueIsFound) {
  const std::string longer(5000, 'x');
  for (const std::string& thrown : compare({{{"tensors", longer}}, {{"tensors", longer}}})) {
    EXPECT_EQ(thrown, "");
  }
  for (const std::string& thrown :
       compare({{{"tensors", longer + 'a'}}, {{"tensors", longer + 'b'}}})) {
    EXPECT_TRUE(has(thrown, "has tensors xxx")) << thrown;
    EXPECT_LT(thrown.size(), 500u);
  }
}

TEST(AgreementThread, NobodyPassesBeforeAllHaveCome) {
  std::atomic<std::size_t> came = 0;
  run_transports(in_process_transports(4), [&](Transport& transport) {
    Presence presence(transport, 10s);
    Agreement agreement(transport, presence);
    for (std::size_t round = 1; round <= 20; ++round) {
      if (transport.rank() == round % 4) std::this_thread::sleep_for(2ms);
      ++came;
      agreement.compare({{"round", std::to_string(round)}});
      EXPECT_GE(came, 4 * round);
    }
    presence.leave();
  });
}

// As a peer that is not gradwire would: the others end, and name it.
TEST(AgreementThread, MessageThatCannotBeReadNamesItsSender) {
  InProcessWorld world(3);
  std::vector<std::string> thrown(3);
  run_ranks(3, [&](std::size_t rank) {
    try {
      if (rank != 2) {
        Communicator(world.join(rank), {.peer_timeout = 10s});
        return;
      }
      const auto transport = world.join(rank);
      Presence presence(*transport, 10s);
      const Agreement::Message nonsense{};
      const auto to_1 = transport->sender(1, {.lane = Lane::agreement}, nonsense);
      to_1->start(nonsense.size());
      for (;;) presence.tick();
    } catch (const PeerError& error) {
      EXPECT_EQ(error.rank(), 2u);
      thrown[rank] = error.what();
    }
  });
  EXPECT_TRUE(has(thrown[0], "found by rank 1")) << thrown[0];
  for (const std::string& what : thrown) {
    EXPECT_TRUE(has(what, "lost rank 2 (thread 2)")) << what;
    EXPECT_TRUE(has(what, "cannot be read")) << what;
  }
}

TEST(AgreementThread, CommunicatorsOfDifferentRunsDoNotStart) {
  InProcessWorld world(3);
  std::atomic<int> refused = 0;
  run_ranks(3, [&](std::size_t rank) {
    try {
      Communicator communicator(world.join(rank),
                                {.run = rank == 1 ? 8u : 7u, .peer_timeout = 10s});
    } catch (const StartError& error) {
      EXPECT_TRUE(has(error.what(), "has run ")) << error.what();
      ++refused;
    }
  });
  EXPECT_EQ(refused, 3);
}

TEST(AgreementThread, ExchangesThatDoNotFitAreNotMadeAndTheRestGoesOn) {
  run_communicators(3, [](Communicator& communicator) {
    const bool is_other = communicator.rank() == 2;
    const std::vector<TensorSize> shapes = {{"weights", is_other ? 101u : 100u}};
    const std::shared_ptr<const Codec> natural = make_codec("natural");
    try {
      make_exchange(communicator, shapes, {.up = natural});
      ADD_FAILURE() << "made";
    } catch (const StartError& error) {
      EXPECT_TRUE(has(error.what(), "has length 10")) << error.what();
    }
    const std::shared_ptr<const Codec> mine = make_codec(is_other ? "qsgd(bits=4)" : "natural");
    try {
      make_exchange(communicator, {{"weights", 100}}, {.up = mine, .topology = Topology::scatter});
      ADD_FAILURE() << "made";
    } catch (const StartError& error) {
      EXPECT_TRUE(has(error.what(), "has uplink codec ")) << error.what();
    }
    EXPECT_NE(make_exchange(communicator, {{"weights", 100}}, {.up = natural}), nullptr);
  });
}

TEST(AgreementThread, BarrierWhereAnotherMakesAnExchangeIsNamed) {
  run_communicators(2, [](Communicator& communicator) {
    const auto call = [&] {
      if (communicator.rank() == 0) return communicator.barrier();
      make_exchange(communicator, {{"weights", 100}}, {.up = make_codec("none")});
    };
    try {
      call();
      ADD_FAILURE() << "passed";
    } catch (const StartError& error) {
      EXPECT_TRUE(has(error.what(), "same calls in the same order")) << error.what();
    }
    communicator.barrier();
  });
}

}  // namespace
}  // namespace gradwire
