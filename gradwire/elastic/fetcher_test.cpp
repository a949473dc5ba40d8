// A newcomer and its donors, without processes: who asks whom, and what comes of it.
#include "gradwire/elastic/fetcher.h"

#include <memory>

#include "gradwire/elastic/test_support.h"
#include "gtest/gtest.h"

namespace gradwire::elastic {
namespace {

constexpr std::size_t kStateBytes = 100'000;
constexpr std::uint64_t kStep = 20;
const MemberId kNewcomer{0, 99};

std::shared_ptr<const Update> update_of(std::uint64_t step) {
  return std::make_shared<const Update>(
      Update{step, false, membership::example_view(4, 2), {example_bytes(8), example_bytes(9)}});
}

// Packets take no time. Donors are members 1, 2 and 3.
class Joining : public testing::Test {
 protected:
  void SetUp() override {
    for (std::uint64_t i = 1; i <= 3; ++i) {
      Donor& donor = donors_
                         .try_emplace(id(i), DonorOptions{.bytes_per_second = rate_,
                                                          .chunk_bytes = 1000,
                                                          .history_bytes_max = 1 << 20})
                         .first->second;
      donor.add_model(kStep, example_bytes(kStateBytes), now_);
    }
  }
  static MemberId id(std::uint64_t number) { return {0, number}; }

  void send_to_donor(const MemberId& to, Bytes bytes) {
    const auto packet = parse_packet(std::span(bytes).subspan(kLengthBytes));
    ASSERT_TRUE(packet.has_value());
    const auto donor = donors_.find(to);
    if (donor == donors_.end()) return;
    if (const auto* ask = std::get_if<AskModel>(&*packet)) {
      const Manifest* manifest =
          ask->is_any ? donor->second.fresh_manifest(now_) : donor->second.manifest_of(ask->step);
      if (manifest != nullptr) fetcher_.on_manifest(to, *manifest);
    } else if (const auto* chunk = std::get_if<AskChunk>(&*packet)) {
      ++asked_[to];
      donor->second.on_ask_chunk(kNewcomer, *chunk, now_, reply_from(to));
    } else if (const auto* updates = std::get_if<AskUpdates>(&*packet)) {
      donor->second.on_ask_updates(kNewcomer, *updates, now_);
    }
  }
  SendBytes reply_from(const MemberId& from) {
    return [this, from](const MemberId&, Bytes bytes) {
      auto packet = parse_packet(std::span(bytes).subspan(kLengthBytes));
      ASSERT_TRUE(packet.has_value());
      if (auto* chunk = std::get_if<Chunk>(&*packet)) {
        if (from == liar_) chunk->bytes.back() ^= std::byte{1};
        sent_bytes_[from] += chunk->bytes.size();
        fetcher_.on_chunk(from, std::move(*chunk));
      } else if (auto* update = std::get_if<Update>(&*packet)) {
        fetcher_.on_update(std::move(*update), now_);
      } else if (const auto* forgotten = std::get_if<Forgotten>(&*packet)) {
        fetcher_.on_forgotten(from, *forgotten);
      }
    };
  }

  void pass(int turns) {
    const SendBytes send = [this](const MemberId& to, Bytes bytes) {
      send_to_donor(to, std::move(bytes));
    };
    for (int turn = 0; turn < turns; ++turn) {
      now_ += Time(10);
      std::vector<MemberId> connected;
      for (const auto& [donor, content] : donors_) connected.push_back(donor);
      fetcher_.tick(connected, now_, send);
      for (auto& [donor, content] : donors_) {
        if (donor != silent_) content.serve(certain_, now_, reply_from(donor));
      }
    }
  }
  void lose(std::uint64_t number) {
    donors_.erase(id(number));
    fetcher_.on_lost(id(number));
  }

  double rate_ = 0;
  Time now_{1'000};
  std::uint64_t certain_ = kStep;
  MemberId liar_{}, silent_{};
  std::map<MemberId, Donor> donors_;
  std::map<MemberId, std::size_t> asked_, sent_bytes_;
  Fetcher fetcher_;
};

TEST_F(Joining, ChunksComeFromAllDonors) {
  pass(200);
  EXPECT_EQ(fetcher_.take_state(), example_bytes(kStateBytes));
  for (std::uint64_t i = 1; i <= 3; ++i) EXPECT_GT(asked_[id(i)], 10u) << i;
}

TEST_F(Joining, AWrongChunkIsAskedForElsewhere) {
  liar_ = id(2);
  pass(200);
  EXPECT_EQ(fetcher_.take_state(), example_bytes(kStateBytes));
  EXPECT_GE(fetcher_.wrong_chunks(), 1u);
  EXPECT_LE(asked_[id(2)], 8u);  // and then nobody asks it again
}

TEST_F(Joining, ADonorDies) {
  pass(3);
  lose(1);
  pass(200);
  EXPECT_EQ(fetcher_.take_state(), example_bytes(kStateBytes));
}

TEST_F(Joining, ADonorThatIsSilentIsLate) {
  silent_ = id(3);
  pass(1000);
  EXPECT_EQ(fetcher_.take_state(), example_bytes(kStateBytes));
}

TEST_F(Joining, AllDonorsWithTheStateDieAndItBeginsAgain) {
  pass(3);
  for (std::uint64_t i = 1; i <= 3; ++i) lose(i);
  Donor& other = donors_.try_emplace(id(4), DonorOptions{.chunk_bytes = 1000}).first->second;
  other.add_model(kStep + 5, example_bytes(kStateBytes, 9), now_);
  pass(300);
  EXPECT_EQ(fetcher_.take_state(), example_bytes(kStateBytes, 9));
}

TEST_F(Joining, UpdatesFollowTheState) {
  for (std::uint64_t step = kStep + 1; step <= kStep + 4; ++step) {
    for (auto& [donor, content] : donors_) content.add_update(update_of(step), now_);
  }
  certain_ = kStep + 3;
  pass(200);
  ASSERT_TRUE(fetcher_.take_state().has_value());
  pass(5);
  for (std::uint64_t step = kStep + 1; step <= kStep + 3; ++step) {
    const auto update = fetcher_.take_update(~std::uint64_t{0});
    ASSERT_TRUE(update.has_value()) << step;
    EXPECT_EQ(*update, *update_of(step));
  }
  EXPECT_FALSE(fetcher_.take_update(~std::uint64_t{0}).has_value());  // it may be replaced
  certain_ = kStep + 4;
  pass(1);
  EXPECT_FALSE(fetcher_.take_update(kStep + 3).has_value());  // beyond what the caller wants
  EXPECT_TRUE(fetcher_.take_update(kStep + 4).has_value());
}

TEST_F(Joining, ARunThatIsFasterThanTheReplayIsFetchedAgain) {
  pass(200);
  ASSERT_TRUE(fetcher_.take_state().has_value());
  // All donors have forgotten the updates since, and have a later state.
  for (auto& [donor, content] : donors_) {
    content = Donor({.chunk_bytes = 1000});
    content.add_model(kStep + 500, example_bytes(kStateBytes, 5), now_);
  }
  certain_ = kStep + 500;
  pass(400);
  EXPECT_EQ(fetcher_.take_state(), example_bytes(kStateBytes, 5));
}

class JoiningSlowly : public Joining {
 protected:
  JoiningSlowly() { rate_ = 20'000; }
};

TEST_F(JoiningSlowly, DonorsKeepTheirRate) {
  pass(100);  // 1 s
  for (const auto& [donor, bytes] : sent_bytes_) {
    EXPECT_LE(bytes, 20'000 + 5'000 + 1'000u);
    EXPECT_GE(bytes, 10'000u);
  }
}

TEST(Donor, HistoryHasALimit) {
  Donor donor({.chunk_bytes = 1000, .history_bytes_max = 10'000});
  donor.add_model(1, example_bytes(100), Time(0));
  for (std::uint64_t step = 2; step < 1000; ++step) donor.add_update(update_of(step), Time(0));
  EXPECT_EQ(donor.manifest_of(1), nullptr);
}

}  // namespace
}  // namespace gradwire::elastic
