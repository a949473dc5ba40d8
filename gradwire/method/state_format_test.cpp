#include <bit>
#include <cstring>
#include <limits>

#include "gradwire/core/bytes.h"
#include "gradwire/method/state.h"
#include "gradwire/wire/frame.h"
#include "gtest/gtest.h"

namespace gradwire {
namespace {

using Bytes = std::vector<std::byte>;

// Without values that are not equal to themselves.
MethodState some_state() {
  return {.spec = "ef(topk(1%), down=natural)",
          .topology = "scatter",
          .rank = 2,
          .ranks = 3,
          .tensors = {{"weights", {2, 3}}, {"", {}}},
          .arrays = {{"error", "weights", Sharing::worker, 0, {1, -0.0F, 1e-45F, 4, 5, 6}},
                     {"down", "weights", Sharing::owner, 4, {0.5F, 0.25F}},
                     {"replica", "", Sharing::replicated, 0, {}}},
          .numbers = {{"alpha", 0.1}, {"steps", 0x1p53}},
          .blobs = {{"nothing", {}}, {"uploads", {std::byte{7}, std::byte{0}}}},
          .is_reshared = true,
          .only_averages = true};
}

// As a writer with a bug or ill will would leave it.
void renew_checksum(Bytes& bytes) {
  const std::size_t checksum_at = bytes.size() - sizeof(std::uint64_t);
  store_le(std::span<std::byte>(bytes), checksum_at, checksum(std::span(bytes).first(checksum_at)));
}

void expect_refused(const Bytes& bytes, std::size_t byte_offset, std::string_view what) {
  const Decoded<MethodState> state = parse_state(bytes);
  ASSERT_FALSE(state) << what;
  EXPECT_EQ(state.error().what, what);
  EXPECT_EQ(state.error().byte_offset, byte_offset) << what;
}

TEST(StateFormat, EverythingThatIsWrittenIsRead) {
  for (const MethodState& state : {some_state(), MethodState{}}) {
    const Decoded<MethodState> read = parse_state(to_bytes(state));
    ASSERT_TRUE(read) << read.error().what;
    EXPECT_EQ(*read, state);
  }
}

TEST(StateFormat, NumbersAreExactToTheBit) {
  MethodState state = some_state();
  state.arrays[0].values = {std::bit_cast<float>(0x7fa12345U), std::bit_cast<float>(0xffc00001U),
                            -std::numeric_limits<float>::infinity()};
  state.numbers["nan"] = std::bit_cast<double>(0x7ff4000000000abcU);
  const Bytes bytes = to_bytes(state);
  const Decoded<MethodState> read = parse_state(bytes);
  ASSERT_TRUE(read) << read.error().what;
  EXPECT_EQ(to_bytes(*read), bytes);
  EXPECT_EQ(std::memcmp(read->arrays[0].values.data(), state.arrays[0].values.data(), 12), 0);
  EXPECT_EQ(std::bit_cast<std::uint64_t>(read->numbers.at("nan")), 0x7ff4000000000abcU);
}

TEST(StateFormat, EveryTruncationIsRefused) {
  const Bytes whole = to_bytes(some_state());
  for (std::size_t length = 0; length < whole.size(); ++length) {
    const Decoded<MethodState> state = parse_state(std::span(whole).first(length));
    ASSERT_FALSE(state) << length;
    EXPECT_EQ(state.error().byte_offset, length);
  }
  Bytes longer = whole;
  longer.emplace_back();
  expect_refused(longer, 16, "the state is longer than it says");
}

TEST(StateFormat, EveryFlippedBitIsRefused) {
  const Bytes whole = to_bytes(some_state());
  for (std::size_t bit = 0; bit < 8 * whole.size(); ++bit) {
    Bytes flipped = whole;
    flipped[bit / 8] ^= std::byte(1 << bit % 8);
    EXPECT_FALSE(parse_state(flipped)) << bit;
  }
}

// With a checksum that fits, what is in the fields still has to make sense.
TEST(StateFormat, FieldsThatMakeNoSenseAreRefused) {
  const auto with = [](std::size_t offset, auto value) {
    Bytes bytes = to_bytes(some_state());
    store_le(std::span<std::byte>(bytes), offset, value);
    renew_checksum(bytes);
    return bytes;
  };
  constexpr std::size_t kTensorsAt = 40 + 4 + 26 + 4 + 7;
  constexpr std::size_t kArraysAt = kTensorsAt + 8 + (4 + 7 + 8 + 2 * 8) + (4 + 8);
  constexpr std::size_t kSharingAt = kArraysAt + 8 + (4 + 5) + (4 + 7);
  expect_refused(with(0, 'g'), 0,
                 "this is not the state of a method, or it was transferred as text");
  expect_refused(with(8, std::uint16_t{2}), 8, "state of an unknown version");
  expect_refused(with(10, std::uint16_t{4}), 10, "state with an unknown flag");
  expect_refused(with(12, 1U), 12, "state whose reserved field is not 0");
  expect_refused(with(24, std::uint64_t{3}), 24, "state of a rank that is not among its ranks");
  expect_refused(with(40, 0xffffffffU), 44, "a field reaches beyond the end");
  expect_refused(with(kSharingAt, 4U), kSharingAt, "array of an unknown sharing");
  expect_refused(with(kSharingAt + 4, ~std::uint64_t{0}), kSharingAt + 4,
                 "array of too many elements");
  expect_refused(with(kSharingAt + 12, std::uint64_t{1} << 61), kSharingAt + 20,
                 "a field reaches beyond the end");
}

TEST(StateFormat, NamesComeInOrderAndOnce) {
  MethodState state;
  state.numbers = {{"a", 1}, {"b", 2}};
  Bytes bytes = to_bytes(state);
  const std::size_t numbers_at = bytes.size() - (8 + 8 + 2 * (4 + 1 + 8));
  for (const char name : {'b', 'c'}) {
    store_le(std::span<std::byte>(bytes), numbers_at + 4, name);
    renew_checksum(bytes);
    expect_refused(bytes, numbers_at + 13, "names out of order");
  }
}

TEST(StateFormat, BytesBehindTheLastFieldAreRefused) {
  Bytes bytes = to_bytes(some_state());
  bytes.emplace_back();
  store_le(std::span<std::byte>(bytes), 16, std::uint64_t{bytes.size()});
  renew_checksum(bytes);
  expect_refused(bytes, bytes.size() - 9, "more bytes behind the last field");
}

}  // namespace
}  // namespace gradwire
