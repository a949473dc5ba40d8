#include "gradwire/codec/huffman.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "gradwire/core/random.h"

namespace gradwire {
namespace {

using Symbols = std::vector<std::uint8_t>;
using Bytes = std::vector<std::byte>;

HuffmanTables& tables() {
  static const auto owned = std::make_unique<HuffmanTables>();
  return *owned;
}

Bytes encode(const Symbols& symbols) {
  const std::size_t room = huffman_bytes_max(symbols.size());
  constexpr std::size_t kGuard = 64;
  Bytes bytes(room + kGuard, std::byte{0xa5});
  const std::size_t used = huffman_encode(symbols, std::span(bytes).first(room), tables());
  EXPECT_LE(used, symbols.size() + 1 + (symbols.size() == 1));
  for (std::size_t i = room; i < bytes.size(); ++i) EXPECT_EQ(bytes[i], std::byte{0xa5});
  bytes.resize(used);
  return bytes;
}

// Decodes into the middle of a larger buffer and looks at its ends. `coded` is copied to memory of
// exactly its size, for the address sanitizer.
bool decode(std::span<const std::byte> coded, std::span<std::uint8_t> symbols) {
  constexpr std::size_t kGuard = 64;
  const Bytes exact(coded.begin(), coded.end());
  Symbols buffer(kGuard + symbols.size() + kGuard, 0x5a);
  const auto result =
      huffman_decode(exact, std::span(buffer).subspan(kGuard, symbols.size()), tables());
  for (std::size_t i = 0; i < kGuard; ++i) {
    EXPECT_EQ(buffer[i], 0x5a);
    EXPECT_EQ(buffer[kGuard + symbols.size() + i], 0x5a);
  }
  std::copy_n(buffer.begin() + kGuard, symbols.size(), symbols.begin());
  if (!result) {
    EXPECT_NE(std::string(result.error().what), "");
    EXPECT_LE(result.error().byte_offset, std::max<std::size_t>(1, coded.size()));
  }
  return result.has_value();
}

void expect_round_trip(const Symbols& symbols) {
  const Bytes coded = encode(symbols);
  Symbols back(symbols.size());
  ASSERT_TRUE(decode(coded, back));
  ASSERT_TRUE(back == symbols);
}

// `count` symbols of an alphabet, by weights.
Symbols draw(const std::vector<std::uint8_t>& alphabet, const std::vector<double>& weights,
             std::size_t count, std::uint64_t seed) {
  const RandomStream random = Rng{.seed = seed}.stream(0, 0);
  std::vector<double> sums(weights.size());
  std::partial_sum(weights.begin(), weights.end(), sums.begin());
  Symbols symbols(count);
  for (std::size_t i = 0; i < count; ++i) {
    const double at = random.at(static_cast<std::uint32_t>(i)) / 4294967296.0 * sums.back();
    const auto found = std::upper_bound(sums.begin(), sums.end() - 1, at) - sums.begin();
    symbols[i] = alphabet[static_cast<std::size_t>(found)];
  }
  return symbols;
}

// Symbols from `first` on, `step` apart.
std::vector<std::uint8_t> alphabet(std::size_t distinct, unsigned first = 0, unsigned step = 1) {
  std::vector<std::uint8_t> result(distinct);
  for (std::size_t i = 0; i < distinct; ++i) {
    result[i] = static_cast<std::uint8_t>(first + i * step);
  }
  return result;
}

std::vector<double> uniform(std::size_t distinct) { return std::vector<double>(distinct, 1.0); }

std::vector<double> falling(std::size_t distinct, double ratio) {
  std::vector<double> weights(distinct, 1.0);
  for (std::size_t i = 1; i < distinct; ++i) weights[i] = weights[i - 1] * ratio;
  return weights;
}

std::array<std::size_t, 256> counts_of(const Symbols& symbols) {
  std::array<std::size_t, 256> counts{};
  for (const std::uint8_t symbol : symbols) ++counts[symbol];
  return counts;
}

// The bits of the best code of lengths up to `length_max`, by package-merge.
std::size_t best_bits(const Symbols& symbols, unsigned length_max) {
  std::vector<std::size_t> leaves;
  for (const std::size_t count : counts_of(symbols)) {
    if (count != 0) leaves.push_back(count);
  }
  std::sort(leaves.begin(), leaves.end());
  std::vector<std::size_t> packages;
  for (unsigned level = 0; level < length_max; ++level) {
    std::vector<std::size_t> merged(leaves);
    for (std::size_t i = 0; i + 1 < packages.size(); i += 2) {
      merged.push_back(packages[i] + packages[i + 1]);
    }
    std::sort(merged.begin(), merged.end());
    packages = merged;
  }
  const auto taken = static_cast<std::ptrdiff_t>(2 * leaves.size() - 2);
  return std::accumulate(packages.begin(), packages.begin() + taken, std::size_t{0});
}

// With what the ends of four streams leave empty.
std::size_t header_bytes_max(std::size_t span) { return 3 + (span + 1) / 2 + 6 + 4; }

const std::size_t kSizes[] = {0, 1, 2, 3, 4, 5, 63, 64, 65, 1000, 4097, 131071, 131072};

TEST(Huffman, SymbolsComeBack) {
  for (const std::size_t size : kSizes) {
    for (const std::size_t distinct : {1, 2, 3, 17, 32, 33, 64, 65, 255, 256}) {
      for (const double ratio : {1.0, 0.9, 0.5}) {
        SCOPED_TRACE(testing::Message() << size << " of " << distinct << " by " << ratio);
        expect_round_trip(draw(alphabet(distinct), falling(distinct, ratio), size, distinct));
        expect_round_trip(draw(alphabet(distinct, 255), falling(distinct, ratio), size, distinct));
        expect_round_trip(
            draw(alphabet(distinct, 100, 91), falling(distinct, ratio), size, distinct));
      }
    }
  }
}

TEST(Huffman, SymbolsComeBackWhateverTheSize) {
  const Symbols symbols = draw(alphabet(20, 255), falling(20, 0.6), 2000, 1);
  for (std::size_t size = 0; size < symbols.size(); ++size) {
    expect_round_trip(Symbols(symbols.begin(), symbols.begin() + static_cast<long>(size)));
  }
}

TEST(Huffman, QuartersOfUnlikeSymbolsComeBack) {
  Symbols symbols = draw(alphabet(32), uniform(32), kHuffmanSymbolsMax, 1);
  for (std::size_t quarter = 0; quarter < 4; ++quarter) {
    Symbols uneven = symbols;
    std::fill_n(uneven.begin() + static_cast<long>(quarter * uneven.size() / 4), uneven.size() / 4,
                std::uint8_t{255});
    expect_round_trip(uneven);
  }
}

TEST(Huffman, FibonacciCountsStayBelowTheLimitAndAtTheBest) {
  Symbols symbols;
  std::size_t count = 1, next = 1;
  for (std::uint8_t s = 0; symbols.size() + count <= kHuffmanSymbolsMax; ++s) {
    symbols.insert(symbols.end(), count, s);
    next += std::exchange(count, next);
  }
  expect_round_trip(symbols);
  EXPECT_GT(best_bits(symbols, 11), best_bits(symbols, 30));  // the limit does bind
  EXPECT_LE(encode(symbols).size(), best_bits(symbols, 11) / 8 + header_bytes_max(30));
}

TEST(Huffman, ManyRareSymbolsStayBelowTheLimitAndAtTheBest) {
  for (const std::size_t rare : {2, 10, 100, 255}) {
    Symbols symbols(kHuffmanSymbolsMax, 255);
    for (std::size_t i = 0; i < rare; ++i) symbols[i * 500] = static_cast<std::uint8_t>(i);
    expect_round_trip(symbols);
    EXPECT_LE(encode(symbols).size(), best_bits(symbols, 11) / 8 + header_bytes_max(rare + 1));
  }
}

TEST(Huffman, BitsAreThoseOfTheBestCode) {
  for (const double ratio : {0.3, 0.5, 0.6, 0.8, 0.95, 1.0}) {
    for (const std::size_t distinct : {2, 5, 14, 30, 64, 200}) {
      const Symbols symbols =
          draw(alphabet(distinct, 255), falling(distinct, ratio), kHuffmanSymbolsMax, distinct);
      const std::size_t span = distinct <= 128 ? distinct : 256;
      EXPECT_LE(encode(symbols).size(), best_bits(symbols, 11) / 8 + header_bytes_max(span))
          << distinct << " by " << ratio;
    }
  }
}

TEST(Huffman, OneSymbolTakesTwoBytes) {
  EXPECT_EQ(encode(Symbols(kHuffmanSymbolsMax, 7)).size(), 2u);
  EXPECT_EQ(encode(Symbols(1, 255)).size(), 2u);
}

TEST(Huffman, SymbolsWithoutOrderTakeAByteEach) {
  const Symbols symbols = draw(alphabet(256), uniform(256), kHuffmanSymbolsMax, 1);
  EXPECT_EQ(encode(symbols).size(), kHuffmanSymbolsMax + 1);
}

// The example of the format's description, byte by byte.
TEST(Huffman, AChunkIsWrittenAsDescribed) {
  Symbols symbols(64, 255);
  symbols[0] = 0;  // 255: 0, 0: 10, 1: 11
  symbols[1] = 1;
  symbols[16] = 1;
  const std::vector<int> expected = {2,          255, 2, 0x21,       0x02, 3, 0, 3, 0, 2,
                                     0,  // header
                                     0b00001101, 0,   0, 0b00000011, 0,    0, 0, 0, 0, 0};
  const Bytes coded = encode(symbols);
  ASSERT_EQ(coded.size(), expected.size());
  for (std::size_t i = 0; i < coded.size(); ++i) {
    EXPECT_EQ(std::to_integer<int>(coded[i]), expected[i]) << i;
  }
}

TEST(Huffman, CutBytesAreRefused) {
  for (const std::size_t size : {5, 100, 300, 1000, 9000}) {
    const Symbols symbols = draw(alphabet(17, 255), falling(17, 0.7), size, 1);
    const Bytes coded = encode(symbols);
    for (std::size_t cut = 0; cut < coded.size(); ++cut) {
      Symbols back(symbols.size());
      EXPECT_FALSE(decode(std::span(coded).first(cut), back)) << cut;
    }
    Bytes longer = coded;
    longer.push_back(std::byte{0});
    Symbols back(symbols.size());
    EXPECT_FALSE(decode(longer, back));
  }
}

TEST(Huffman, AWrongNumberOfSymbolsIsRefused) {
  const Symbols symbols = draw(alphabet(17, 255), falling(17, 0.7), 1000, 1);
  const Bytes coded = encode(symbols);
  for (const std::size_t size : {0, 1, 990, 999, 1001, 2000, 131072}) {
    Symbols back(size);
    EXPECT_FALSE(decode(coded, back)) << size;
  }
}

TEST(Huffman, AFlippedBitIsRefusedOrDecodesWithinBounds) {
  for (const std::size_t distinct : {2, 17, 200}) {
    const Symbols symbols = draw(alphabet(distinct, 255), falling(distinct, 0.8), 1500, 1);
    const Bytes coded = encode(symbols);
    std::size_t refused = 0;
    for (std::size_t bit = 0; bit < coded.size() * 8; ++bit) {
      Bytes damaged = coded;
      damaged[bit / 8] ^= std::byte{1} << bit % 8;
      Symbols back(symbols.size());
      if (!decode(damaged, back)) {
        ++refused;
      } else {
        EXPECT_NE(back, symbols) << bit;  // every bit means something
      }
    }
    EXPECT_GT(refused, 0u);
  }
}

TEST(Huffman, RandomBytesNeverLeaveTheirBounds) {
  const RandomStream random = Rng{.seed = 3}.stream(0, 0);
  std::uint32_t drawn = 0;
  for (int turn = 0; turn < 20000; ++turn) {
    // A sound header of two, three or nine codes, and rubbish behind it.
    Bytes bytes = {std::byte{2}, std::byte{255}};
    const std::uint32_t kind = random.at(drawn++) % 3;
    if (kind == 0) bytes.insert(bytes.end(), {std::byte{1}, std::byte{0x11}});
    if (kind == 1) bytes.insert(bytes.end(), {std::byte{2}, std::byte{0x21}, std::byte{2}});
    if (kind == 2) {
      bytes.push_back(std::byte{8});
      for (const int two : {0x21, 0x43, 0x65, 0x87, 0x08}) bytes.push_back(std::byte(two));
    }
    const std::size_t streams = random.at(drawn++) % 200;
    for (int s = 0; s < 3; ++s) {
      bytes.push_back(static_cast<std::byte>(random.at(drawn++) % (streams / 3 + 1)));
      bytes.push_back(std::byte{0});
    }
    for (std::size_t i = 0; i < streams; ++i)
      bytes.push_back(static_cast<std::byte>(random.at(drawn++)));
    Symbols back(random.at(drawn++) % 1600);
    decode(bytes, back);
  }
}

TEST(Huffman, CodesThatAreNotCompleteAreRefused) {
  const std::vector<std::vector<int>> headers = {
      {2, 0, 0, 0x01},        // one code of one bit
      {2, 0, 1, 0x21},        // 1/2 + 1/4
      {2, 0, 2, 0x11, 0x01},  // 3/2
      {2, 0, 1, 0x1c},        // 12 bits
      {2, 0, 2, 0x10, 0x01},  // begins with an absent symbol
      {2, 0, 2, 0x11, 0x00},  // ends with an absent symbol
      {2, 0, 2, 0x21, 0x12},  // a nibble left over
      {3, 0},                 // a mode that is none
  };
  for (const auto& header : headers) {
    Bytes bytes;
    for (const int byte : header) bytes.push_back(static_cast<std::byte>(byte));
    bytes.insert(bytes.end(), 100, std::byte{0});
    Symbols back(100);
    EXPECT_FALSE(decode(bytes, back)) << testing::PrintToString(header);
  }
}

}  // namespace
}  // namespace gradwire
