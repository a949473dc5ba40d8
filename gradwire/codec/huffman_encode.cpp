#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "gradwire/codec/huffman_code.h"
#include "gradwire/core/bytes.h"
#include "gradwire/core/check.h"

namespace gradwire {

using namespace huffman;

namespace {

constexpr std::size_t kSlackBytes = 8;  // streams are written eight bytes at a time

using Counts = std::array<std::uint32_t, 256>;

// The least range of values that holds all symbols. Bytes are taken as unsigned or as signed,
// whatever is narrower: 255 is often a neighbour of 0.
struct Window {
  std::uint8_t flip = 0;   // 0x80 if signed
  std::uint8_t first = 0;  // after the flip
  unsigned span = 0;

  std::uint8_t symbol(unsigned i) const { return static_cast<std::uint8_t>((first + i) ^ flip); }
};

Window window_of(std::span<const std::uint8_t> symbols) {
  std::uint8_t low = 255, high = 0, signed_low = 255, signed_high = 0;
  for (const std::uint8_t symbol : symbols) {
    const auto flipped = static_cast<std::uint8_t>(symbol ^ 0x80);
    low = std::min(low, symbol);
    high = std::max(high, symbol);
    signed_low = std::min(signed_low, flipped);
    signed_high = std::max(signed_high, flipped);
  }
  if (high - low <= signed_high - signed_low) {
    return {.flip = 0, .first = low, .span = static_cast<unsigned>(high - low) + 1};
  }
  return {.flip = 0x80,
          .first = signed_low,
          .span = static_cast<unsigned>(signed_high - signed_low) + 1};
}

// Numbers pairs of neighbouring symbols by their places in the window, the first one in the lower
// `bits`: four pairs to a word, which the compiler makes into vectors.
void number_pairs(const std::uint8_t* symbols, std::size_t pairs, const Window& window,
                  unsigned bits, std::uint16_t* numbers) {
  constexpr std::uint64_t kBytes = 0x0101010101010101;
  constexpr std::uint64_t kPairs = 0x0001000100010001;
  const std::uint64_t flips = window.flip * kBytes;
  const std::uint64_t firsts = window.first * kBytes;
  const std::uint64_t low = ((std::uint64_t{1} << bits) - 1) * kPairs;
  const std::uint64_t high = low << bits;
  const auto number = [=](std::uint64_t four) {
    // No byte is below window.first: nothing is borrowed.
    const std::uint64_t places = (four ^ flips) - firsts;
    return (places & low) | (places >> (8 - bits) & high);
  };
  const std::size_t words = pairs / 4;
  for (std::size_t i = 0; i < words; ++i) {
    std::uint64_t four;
    std::memcpy(&four, symbols + 8 * i, 8);
    four = number(four);
    std::memcpy(numbers + 4 * i, &four, 8);
  }
  for (std::size_t i = 4 * words; i < pairs; ++i) {
    std::uint16_t both;
    std::memcpy(&both, symbols + 2 * i, 2);
    numbers[i] = static_cast<std::uint16_t>(number(both));
  }
}

// Neighbouring increments go to tables of their own, so that none waits for the one before.
Counts count_symbols(std::span<const std::uint8_t> symbols, HuffmanTables::Encode& t) {
  std::memset(t.counts, 0, sizeof t.counts);
  std::size_t i = 0;
  for (; i + 4 <= symbols.size(); i += 4) {
    ++t.counts[0][symbols[i]];
    ++t.counts[1][symbols[i + 1]];
    ++t.counts[2][symbols[i + 2]];
    ++t.counts[3][symbols[i + 3]];
  }
  for (; i < symbols.size(); ++i) ++t.counts[0][symbols[i]];
  Counts counts;
  for (std::size_t s = 0; s < 256; ++s) {
    counts[s] = t.counts[0][s] + t.counts[1][s] + t.counts[2][s] + t.counts[3][s];
  }
  return counts;
}

Counts count_pairs(std::span<const std::uint8_t> symbols, const Window& window, unsigned bits,
                   HuffmanTables::Encode& t) {
  constexpr std::size_t kBlock = HuffmanTables::kBlockPairs;
  const std::size_t values = std::size_t{1} << bits;
  for (auto& lane : t.pair_counts) std::memset(lane, 0, values * values * sizeof lane[0]);
  const std::size_t pairs = symbols.size() / 2;
  for (std::size_t done = 0; done < pairs; done += kBlock) {
    const std::size_t todo = std::min(kBlock, pairs - done);
    std::uint16_t* const numbers = t.pairs;
    number_pairs(symbols.data() + 2 * done, todo, window, bits, numbers);
    std::size_t i = 0;
    for (; i + 4 <= todo; i += 4) {
      ++t.pair_counts[0][numbers[i]];
      ++t.pair_counts[1][numbers[i + 1]];
      ++t.pair_counts[2][numbers[i + 2]];
      ++t.pair_counts[3][numbers[i + 3]];
    }
    for (; i < todo; ++i) ++t.pair_counts[0][numbers[i]];
  }

  std::array<std::uint32_t, 64> places{};
  for (std::size_t second = 0; second < values; ++second) {
    std::uint32_t sum = 0;
    for (std::size_t first = 0; first < values; ++first) {
      const std::size_t pair = second << bits | first;
      const std::uint32_t count = std::uint32_t{t.pair_counts[0][pair]} + t.pair_counts[1][pair] +
                                  t.pair_counts[2][pair] + t.pair_counts[3][pair];
      places[first] += count;
      sum += count;
    }
    places[second] += sum;
  }
  Counts counts{};
  for (unsigned i = 0; i < window.span; ++i) counts[window.symbol(i)] = places[i];
  if (symbols.size() % 2 != 0) ++counts[symbols.back()];
  return counts;
}

// Whether no code can pay for a table of so many bytes, as with noise: found in less time than the
// best code. A code of n symbols takes n H bits or more, and their entropy H is at least
// 8 - log2(256 sum c^2 / n^2), which is 8 - x / ln 2 or more for x = 256 sum c^2 / n^2 - 1. So a
// code saves no more than n x / ln 2 bits; 5 is 8 ln 2, rounded down.
bool is_noise(const Counts& counts, std::uint64_t n, std::uint64_t table_bytes) {
  std::uint64_t squares = 0;
  for (const std::uint64_t count : counts) squares += count * count;
  return 256 * squares <= n * n + 5 * n * table_bytes;
}

// The best code lengths up to kCodeBitsMax for two symbols or more, by package-merge (Larmore and
// Hirschberg, 1990): coins of every denomination 2^-length buy the codes at the least weight. Each
// turn merges the leaves with the last turn's nodes packed in twos.
Lengths lengths_of(const Counts& counts) {
  std::array<std::uint32_t, 256> sorted;  // count and symbol, rarest first
  std::size_t leaves = 0;
  for (std::uint32_t s = 0; s < 256; ++s) {
    if (counts[s] != 0) sorted[leaves++] = counts[s] << 8 | s;
  }
  std::sort(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(leaves));

  constexpr std::uint32_t kNone = UINT32_MAX;
  std::array<std::uint32_t, 257> leaf;  // weights
  for (std::size_t i = 0; i < leaves; ++i) leaf[i] = sorted[i] >> 8;
  leaf[leaves] = kNone;
  std::array<std::uint32_t, 512> nodes;
  std::array<std::uint32_t, 257> packages;
  std::array<std::array<std::uint16_t, 512>, kCodeBitsMax> leaves_before;  // by turn and node
  std::size_t package_count = 0;
  for (auto& before : leaves_before) {
    packages[package_count] = kNone;
    const std::size_t node_count = leaves + package_count;
    std::size_t next = 0;
    for (std::size_t node = 0; node < node_count; ++node) {
      before[node] = static_cast<std::uint16_t>(next);
      const std::uint32_t package = packages[node - next];
      const bool take_leaf = leaf[next] <= package;
      nodes[node] = take_leaf ? leaf[next] : package;
      next += take_leaf;
    }
    before[node_count] = static_cast<std::uint16_t>(next);
    package_count = node_count / 2;
    for (std::size_t i = 0; i < package_count; ++i) packages[i] = nodes[2 * i] + nodes[2 * i + 1];
  }

  // From the last turn back: the first 2 (leaves - 1) nodes are bought, and what they are packed
  // of. A leaf's code takes a bit for every turn in which the leaf is bought.
  Lengths lengths{};
  std::size_t bought = 2 * (leaves - 1);
  for (std::size_t turn = kCodeBitsMax; turn-- > 0;) {
    const std::size_t bought_leaves = leaves_before[turn][bought];
    for (std::size_t i = 0; i < bought_leaves; ++i) ++lengths[sorted[i] & 0xff];
    bought = 2 * (bought - bought_leaves);
  }
  return lengths;
}

// A code as an entry of the tables: its bits at the top, their number at the bottom.
std::uint64_t code_entry(std::uint64_t code, unsigned bits) { return code << (64 - bits) | bits; }

// Two codes in one word, still at its top; what is below them is rubbish.
std::uint64_t code_after(std::uint64_t before, std::uint64_t entry) {
  return before >> (entry & 63) | entry;
}

// Writes codes lowest bits first. A code comes as an entry: its bits at the top of the word, their
// number at the bottom. The word in hand is kept at the top too, above rubbish.
class StreamWriter {
 public:
  // What one word takes beside the bits of a byte begun, and the rubbish.
  static constexpr std::uint64_t kBitsMax = 64 - 7 - 6;

  explicit StreamWriter(std::byte* out) : out_(out) {}

  // `code` is at the top of its word, `bits` are from 1 to kBitsMax.
  void put(std::uint64_t code, std::uint64_t bits) {
    word_ = word_ >> bits | code;
    held_ += bits;
    const std::uint64_t bottom = word_ >> (64 - held_);
    std::memcpy(out_, &bottom, 8);
    out_ += held_ / 8;
    held_ %= 8;
  }
  void put(std::uint64_t entry) { put(entry, entry & 63); }
  // Four or six entries, which mostly fit one word: the branch is foreseen.
  void put_four(std::uint64_t a, std::uint64_t b, std::uint64_t c, std::uint64_t d) {
    const std::uint64_t ab = code_after(a, b);
    const std::uint64_t cd = code_after(c, d);
    const std::uint64_t bits = (a + b + (c + d)) & 0xff;
    if (bits <= kBitsMax) [[likely]] {
      put(ab >> ((c + d) & 63) | cd, bits);
    } else {
      put(ab, (a + b) & 63);
      put(cd, (c + d) & 63);
    }
  }
  void put_six(std::uint64_t a, std::uint64_t b, std::uint64_t c, std::uint64_t d, std::uint64_t e,
               std::uint64_t f) {
    const std::uint64_t ab = code_after(a, b);
    const std::uint64_t cd = code_after(c, d);
    const std::uint64_t ef = code_after(e, f);
    const std::uint64_t bits = (a + b + (c + d) + (e + f)) & 0xff;
    if (bits <= kBitsMax) [[likely]] {
      put((ab >> ((c + d) & 63) | cd) >> ((e + f) & 63) | ef, bits);
    } else {
      put(ab, (a + b) & 63);
      put(cd, (c + d) & 63);
      put(ef, (e + f) & 63);
    }
  }
  std::byte* finish() { return out_ + (held_ != 0); }

 private:
  std::byte* out_;
  std::uint64_t word_ = 0;
  std::uint64_t held_ = 0;
};
static_assert(4 * kCodeBitsMax <= StreamWriter::kBitsMax);

std::byte* write_singly(std::span<const std::uint8_t> symbols, const HuffmanTables::Encode& t,
                        std::byte* out) {
  StreamWriter writer(out);
  std::size_t i = 0;
  for (; i + 4 <= symbols.size(); i += 4) {
    writer.put_four(t.codes[symbols[i]], t.codes[symbols[i + 1]], t.codes[symbols[i + 2]],
                    t.codes[symbols[i + 3]]);
  }
  for (; i < symbols.size(); ++i) writer.put(t.codes[symbols[i]]);
  return writer.finish();
}

// With `short_codes`, six pairs mostly fit a word.
std::byte* write_by_pairs(std::span<const std::uint8_t> symbols, const Window& window,
                          unsigned bits, bool short_codes, HuffmanTables::Encode& t,
                          std::byte* out) {
  constexpr std::size_t kBlock = HuffmanTables::kBlockPairs;
  StreamWriter writer(out);
  const std::size_t pairs = symbols.size() / 2;
  for (std::size_t done = 0; done < pairs; done += kBlock) {
    const std::size_t todo = std::min(kBlock, pairs - done);
    std::uint16_t* const numbers = t.pairs;
    number_pairs(symbols.data() + 2 * done, todo, window, bits, numbers);
    std::size_t i = 0;
    for (; short_codes && i + 6 <= todo; i += 6) {
      writer.put_six(t.pair_codes[numbers[i]], t.pair_codes[numbers[i + 1]],
                     t.pair_codes[numbers[i + 2]], t.pair_codes[numbers[i + 3]],
                     t.pair_codes[numbers[i + 4]], t.pair_codes[numbers[i + 5]]);
    }
    for (; i + 4 <= todo; i += 4) {
      writer.put_four(t.pair_codes[numbers[i]], t.pair_codes[numbers[i + 1]],
                      t.pair_codes[numbers[i + 2]], t.pair_codes[numbers[i + 3]]);
    }
    for (; i < todo; ++i) writer.put(t.pair_codes[numbers[i]]);
  }
  if (symbols.size() % 2 != 0) writer.put(t.codes[symbols.back()]);
  return writer.finish();
}

void fill_pair_codes(const Window& window, unsigned bits, const Lengths& lengths,
                     const std::array<std::uint16_t, 256>& codes, std::uint64_t* entries) {
  for (unsigned second = 0; second < window.span; ++second) {
    const std::uint8_t b = window.symbol(second);
    if (lengths[b] == 0) continue;
    for (unsigned first = 0; first < window.span; ++first) {
      const std::uint8_t a = window.symbol(first);
      const unsigned length = lengths[a] + lengths[b];
      entries[second << bits | first] =
          code_entry(codes[a] | std::uint64_t{codes[b]} << lengths[a], length);
    }
  }
}

std::size_t encode_raw(std::span<const std::uint8_t> symbols, std::span<std::byte> coded) {
  coded[0] = std::byte{kRaw};
  if (!symbols.empty()) std::memcpy(coded.data() + 1, symbols.data(), symbols.size());
  return 1 + symbols.size();
}

}  // namespace

std::size_t huffman_bytes_max(std::size_t symbols) { return 1 + symbols + kSlackBytes; }

std::size_t huffman_encode(std::span<const std::uint8_t> symbols, std::span<std::byte> coded,
                           HuffmanTables& tables) {
  GW_CHECK(symbols.size() <= kHuffmanSymbolsMax);
  GW_CHECK(coded.size() >= huffman_bytes_max(symbols.size()));
  if (symbols.empty()) return encode_raw(symbols, coded);
  const Window window = window_of(symbols);
  if (window.span == 1) {
    coded[0] = std::byte{kOneSymbol};
    coded[1] = std::byte{symbols[0]};
    return 2;
  }

  HuffmanTables::Encode& t = tables.encode;
  const auto place_bits = static_cast<unsigned>(std::bit_width(window.span - 1));
  // Tables of pairs pay if they are small, and small beside the chunk.
  const bool by_pairs =
      2 * place_bits <= HuffmanTables::kPairBitsMax && symbols.size() >> (2 * place_bits + 2) != 0;
  const Counts counts =
      by_pairs ? count_pairs(symbols, window, place_bits, t) : count_symbols(symbols, t);
  const std::size_t header_bytes = 3 + (window.span + 1) / 2 + kStreamSizesBytes;
  if (is_noise(counts, symbols.size(), header_bytes - 1)) return encode_raw(symbols, coded);
  const Lengths lengths = lengths_of(counts);
  std::size_t bits = 0;
  for (std::size_t s = 0; s < 256; ++s) bits += std::size_t{counts[s]} * lengths[s];
  if (header_bytes + bits / 8 + kStreams >= 1 + symbols.size()) return encode_raw(symbols, coded);

  coded[0] = std::byte{kCoded};
  coded[1] = std::byte{window.symbol(0)};
  coded[2] = static_cast<std::byte>(window.span - 1);
  for (unsigned i = 0; i < window.span; i += 2) {
    const unsigned high = i + 1 < window.span ? lengths[window.symbol(i + 1)] : 0u;
    coded[3 + i / 2] = static_cast<std::byte>(lengths[window.symbol(i)] | high << 4);
  }

  const auto codes = bit_codes(lengths.data());
  for (std::size_t s = 0; s < 256; ++s) {
    if (lengths[s] != 0) t.codes[s] = code_entry(codes[s], lengths[s]);
  }
  if (by_pairs) fill_pair_codes(window, place_bits, lengths, codes, t.pair_codes);
  const bool short_codes = bits <= symbols.size() * 13 / 4;
  std::byte* out = coded.data() + header_bytes;
  for (std::size_t stream = 0; stream < kStreams; ++stream) {
    const std::size_t begin = stream_begin(stream, symbols.size());
    const auto part = symbols.subspan(begin, stream_begin(stream + 1, symbols.size()) - begin);
    std::byte* const end = by_pairs ? write_by_pairs(part, window, place_bits, short_codes, t, out)
                                    : write_singly(part, t, out);
    if (stream + 1 < kStreams) {
      store_le(coded, header_bytes - kStreamSizesBytes + 2 * stream,
               static_cast<std::uint16_t>(end - out));
    }
    out = end;
  }
  return static_cast<std::size_t>(out - coded.data());
}

}  // namespace gradwire
