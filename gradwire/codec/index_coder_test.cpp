// Claims about the coding of indices with a history: they come back, a history helps, and any bytes
// are indices within the tensor or are refused.
#include "gradwire/codec/index_coder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "gradwire/core/random.h"

namespace gradwire {
namespace {

constexpr std::size_t kRows = 120;
constexpr std::size_t kColumns = 250;

// Of a matrix some rows and columns of which are sent more often, and where an element that was
// just sent rests for a few steps.
class Source {
 public:
  explicit Source(std::size_t kept) : kept_(kept), last_(kRows * kColumns, -100) {}

  std::vector<std::uint32_t> next() {
    const RandomStream random =
        Rng{.seed = 7, .step = static_cast<std::uint64_t>(step_)}.stream(0, 0);
    std::set<std::uint32_t> some;
    for (std::uint32_t i = 0; some.size() < kept_; ++i) {
      const auto below = [&](std::uint32_t at, std::uint64_t limit) {
        return static_cast<std::uint32_t>(random.at(4 * i + at) * limit >> 32);
      };
      // Three of four are in a quarter of the rows and columns.
      const std::uint32_t row = below(0, 4) > 0 ? below(1, kRows / 4) : below(1, kRows);
      const std::uint32_t column = below(2, 4) > 0 ? below(3, kColumns / 4) : below(3, kColumns);
      const auto index = static_cast<std::uint32_t>(row * kColumns + column);
      if (step_ - last_[index] < 5) continue;
      some.insert(index);
    }
    for (const std::uint32_t index : some) last_[index] = step_;
    ++step_;
    return {some.begin(), some.end()};
  }

 private:
  std::size_t kept_;
  int step_ = 0;
  std::vector<int> last_;
};

std::vector<std::byte> encode(const IndexHistory& history,
                              const std::vector<std::uint32_t>& indices) {
  std::vector<std::byte> bytes(16 * indices.size() + 64);
  RangeEncoder encoder(bytes);
  IndexCoder().encode(history, indices, encoder);
  bytes.resize(encoder.finish().value());
  return bytes;
}

TEST(IndexCoder, IndicesComeBackAndAHistoryMakesThemShorter) {
  for (const std::size_t kept : {1ul, 30ul, 300ul, 3000ul}) {
    Source source(kept);
    IndexHistory history(kRows, kColumns, kept);
    double first_bits = 0;
    double bits = 0;
    for (int step = 0; step < 80; ++step) {
      const std::vector<std::uint32_t> indices = source.next();
      const std::vector<std::byte> bytes = encode(history, indices);
      RangeDecoder decoder(bytes);
      std::vector<std::uint32_t> back(kept);
      const auto decoded = IndexCoder().decode(history, decoder, back);
      ASSERT_TRUE(decoded) << decoded.error().what << ", step " << step;
      ASSERT_EQ(back, indices) << "step " << step;
      ASSERT_GE(decoder.bytes_read(), bytes.size());
      bits = 8.0 * static_cast<double>(bytes.size()) / static_cast<double>(kept);
      if (step == 0) first_bits = bits;
      history.record(indices);
    }
    // A sixteenth of the elements has most of the indices. Of 3000 it is too small to hold most; of
    // few there is little to learn from.
    if (kept == 300) {
      EXPECT_LT(bits, first_bits - 1) << kept;
    }
  }
}

TEST(IndexCoder, RandomIndicesTakeLittleMoreThanTheirEntropy) {
  constexpr std::size_t kElements = 1000000;
  constexpr std::size_t kKept = 10000;
  IndexHistory history(1000, 1000, kKept);
  double bits = 0;
  for (std::uint64_t step = 0; step < 10; ++step) {
    const RandomStream random = Rng{.seed = 3, .step = step}.stream(0, 0);
    std::set<std::uint32_t> some;
    for (std::uint32_t i = 0; some.size() < kKept; ++i) {
      some.insert(static_cast<std::uint32_t>(std::uint64_t{random.at(i)} * kElements >> 32));
    }
    const std::vector<std::uint32_t> indices(some.begin(), some.end());
    bits = 8.0 * static_cast<double>(encode(history, indices).size()) / kKept;
    history.record(indices);
  }
  EXPECT_LT(bits, 8.3);  // the entropy is 8.08
}

TEST(IndexCoder, ExtremesComeBack) {
  for (const std::size_t elements : {1ul, 2ul, 1000ul, 70000ul}) {
    for (const std::size_t kept : {1ul, elements / 2, elements}) {
      if (kept == 0) continue;
      IndexHistory history(1, elements, kept);
      for (const bool is_front : {true, false, true}) {
        std::vector<std::uint32_t> indices;
        const std::size_t first = is_front ? 0 : elements - kept;
        for (std::size_t i = 0; i < kept; ++i) {
          indices.push_back(static_cast<std::uint32_t>(first + i));
        }
        const std::vector<std::byte> bytes = encode(history, indices);
        RangeDecoder decoder(bytes);
        std::vector<std::uint32_t> back(kept);
        ASSERT_TRUE(IndexCoder().decode(history, decoder, back)) << elements << ", " << kept;
        EXPECT_EQ(back, indices);
        history.record(indices);
      }
    }
  }
}

TEST(IndexCoder, TooLittleRoomIsSaid) {
  Source source(300);
  std::vector<std::byte> bytes(100);
  RangeEncoder encoder(bytes);
  IndexCoder().encode(IndexHistory(kRows, kColumns, 300), source.next(), encoder);
  EXPECT_FALSE(encoder.finish().has_value());
}

TEST(IndexCoder, AnyBytesAreIndicesInRangeOrAreRefused) {
  Source source(300);
  IndexHistory history(kRows, kColumns, 300);
  for (int step = 0; step < 10; ++step) history.record(source.next());
  const std::vector<std::byte> bytes = encode(history, source.next());
  std::size_t refused = 0;
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    for (const unsigned pattern : {0x01u, 0x80u, 0xffu}) {
      auto damaged = bytes;
      damaged[at] ^= static_cast<std::byte>(pattern);
      RangeDecoder decoder(damaged);
      std::vector<std::uint32_t> back(300);
      if (!IndexCoder().decode(history, decoder, back)) {
        ++refused;
        continue;
      }
      for (std::size_t i = 0; i < back.size(); ++i) {
        ASSERT_LT(back[i], history.elements());
        if (i > 0) {
          ASSERT_GT(back[i], back[i - 1]);
        }
      }
    }
  }
  EXPECT_GT(refused, 0u);
  for (const std::vector<std::byte>& extreme :
       {std::vector<std::byte>(), std::vector<std::byte>(4000, std::byte{0xff})}) {
    RangeDecoder decoder(extreme);
    std::vector<std::uint32_t> back(300);
    (void)IndexCoder().decode(history, decoder, back).has_value();
  }
}

TEST(IndexHistory, IsSavedToTheBit) {
  Source source(300);
  IndexHistory history(kRows, kColumns, 300);
  for (int step = 0; step < 20; ++step) history.record(source.next());
  std::vector<std::byte> saved;
  history.save(saved);
  IndexHistory loaded(kRows, kColumns, 300);
  ASSERT_TRUE(loaded.load(saved));
  for (int step = 0; step < 20; ++step) {
    const std::vector<std::uint32_t> indices = source.next();
    ASSERT_EQ(encode(loaded, indices), encode(history, indices));
    loaded.record(indices);
    history.record(indices);
  }
  saved.pop_back();
  EXPECT_FALSE(loaded.load(saved));
}

}  // namespace
}  // namespace gradwire
