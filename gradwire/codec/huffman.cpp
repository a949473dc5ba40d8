#include "gradwire/codec/huffman.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "gradwire/core/bytes.h"
#include "gradwire/core/check.h"

namespace gradwire {
namespace {

enum Mode : std::uint8_t { kRaw = 0, kOneSymbol = 1, kCoded = 2 };

constexpr unsigned kCodeBitsMax = HuffmanTables::kCodeBitsMax;
constexpr std::size_t kStreams = 4;
constexpr std::size_t kStreamSizesBytes = 2 * (kStreams - 1);
constexpr std::size_t kSlackBytes = 8;  // streams are written eight bytes at a time
static_assert((kHuffmanSymbolsMax / kStreams * kCodeBitsMax + 7) / 8 <= 0xffff);

using Counts = std::array<std::uint32_t, 256>;
using Lengths = std::array<std::uint8_t, 256>;

std::size_t stream_begin(std::size_t stream, std::size_t symbols) {
  return std::min(symbols, stream * ((symbols + kStreams - 1) / kStreams));
}

// Canonical codes in the order in which their bits are written, lowest first.
std::array<std::uint16_t, 256> bit_codes(const std::uint8_t* lengths) {
  std::array<unsigned, kCodeBitsMax + 1> next{};
  for (int s = 0; s < 256; ++s) ++next[lengths[s]];
  next[0] = 0;
  unsigned code = 0;
  for (unsigned bits = 1; bits <= kCodeBitsMax; ++bits) {
    const unsigned codes = next[bits];
    next[bits] = code;
    code = (code + codes) << 1;
  }
  std::array<std::uint16_t, 256> result{};
  for (int s = 0; s < 256; ++s) {
    if (lengths[s] == 0) continue;
    unsigned reversed = 0;
    unsigned forward = next[lengths[s]]++;
    for (unsigned bit = 0; bit < lengths[s]; ++bit, forward >>= 1) {
      reversed = reversed << 1 | (forward & 1);
    }
    result[static_cast<std::size_t>(s)] = static_cast<std::uint16_t>(reversed);
  }
  return result;
}

// ---- Encoding ----------------------------------------------------------------------------------

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

// ---- Decoding ----------------------------------------------------------------------------------

// An entry of the lookup table tells all the symbols that the next bits hold for certain: the bits
// they take in byte 0, their number in byte 1, the symbols, up to six, from byte 2 on.
constexpr unsigned kSymbolsPerLookup = 6;
constexpr unsigned kLookupsPerLoad = 5;
constexpr std::size_t kSymbolsPerLoad = kSymbolsPerLookup * kLookupsPerLoad;
static_assert(kLookupsPerLoad * kCodeBitsMax + 7 + 1 <= 64);
constexpr std::size_t kBytesPerLoad = 7;

// Every sequence of codes of `bits` bits in all, for rising `bits`, overwrites what shorter
// sequences have put into the table.
void fill_lookup(HuffmanTables::Decode& t, unsigned table_bits) {
  const auto codes = bit_codes(t.lengths);
  std::array<std::uint8_t, 256> sorted;
  std::array<unsigned, kCodeBitsMax + 2> of_length{};  // the first in `sorted`
  for (int s = 0; s < 256; ++s) {
    if (t.lengths[s] != 0) ++of_length[t.lengths[s] + 1u];
  }
  for (unsigned l = 1; l <= kCodeBitsMax + 1; ++l) of_length[l] += of_length[l - 1];
  {
    auto next = of_length;
    for (unsigned s = 0; s < 256; ++s) {
      if (t.lengths[s] != 0) sorted[next[t.lengths[s]]++] = static_cast<std::uint8_t>(s);
    }
  }

  std::array<std::size_t, kCodeBitsMax + 2> begin{};  // of the sequences by their bits
  t.lookup[0] = t.sequences[0] = 0;
  t.sequence_bits[0] = 0;
  std::size_t end = 1;
  begin[1] = 1;
  for (unsigned bits = 1; bits <= table_bits; ++bits) {
    std::memcpy(t.lookup + (1u << (bits - 1)), t.lookup, sizeof(t.lookup[0]) << (bits - 1));
    const bool last = bits == table_bits;
    for (unsigned length = 1; length <= bits; ++length) {
      const unsigned before = bits - length;
      if (begin[before] == begin[before + 1]) continue;
      for (unsigned at = of_length[length]; at < of_length[length + 1]; ++at) {
        const std::uint64_t symbol = sorted[at];
        const unsigned code = unsigned{codes[symbol]} << before;
        for (std::size_t i = begin[before]; i < begin[before + 1]; ++i) {
          const std::uint64_t sequence = t.sequences[i];
          const unsigned count = sequence >> 8 & 0xff;
          if (count == kSymbolsPerLookup) continue;
          const std::uint64_t longer = sequence + 0x100 + length + (symbol << (16 + 8 * count));
          const unsigned all = t.sequence_bits[i] | code;
          t.lookup[all] = longer;
          if (!last) {
            t.sequences[end] = longer;
            t.sequence_bits[end] = static_cast<std::uint16_t>(all);
            ++end;
          }
        }
      }
    }
    begin[bits + 1] = end;
  }
}

struct StreamReader {
  const std::byte* in;
  const std::byte* in_end;
  std::uint8_t* out;
  std::uint8_t* out_end;
  unsigned bit = 0;  // of *in, below 8

  // Loads that are safe, whatever the bits say.
  std::size_t loads() const {
    const auto bytes = static_cast<std::size_t>(in_end - in);
    const auto symbols = static_cast<std::size_t>(out_end - out);
    if (in > in_end || bytes < 8 || symbols < kSymbolsPerLoad + 2) return 0;
    return std::min((bytes - 8) / kBytesPerLoad + 1, (symbols - 2) / kSymbolsPerLoad);
  }
};

// Reads a load of every stream, a lookup of each in turn, so that the processor waits for all of
// them at once.
template <std::size_t kCount>
void read_loads(StreamReader* const* streams, std::size_t loads, const std::uint64_t* lookup,
                std::uint64_t mask) {
  const std::byte* in[kCount];
  std::uint8_t* out[kCount];
  unsigned bit[kCount];
  for (std::size_t s = 0; s < kCount; ++s) {
    in[s] = streams[s]->in;
    out[s] = streams[s]->out;
    bit[s] = streams[s]->bit;
  }
  for (; loads > 0; --loads) {
    std::uint64_t word[kCount];
#pragma GCC unroll 4
    for (std::size_t s = 0; s < kCount; ++s) {
      std::memcpy(&word[s], in[s], 8);
      // The highest one tells how far the word has been shifted.
      word[s] = word[s] >> bit[s] | std::uint64_t{1} << 63;
    }
#pragma GCC unroll 5
    for (unsigned i = 0; i < kLookupsPerLoad; ++i) {
#pragma GCC unroll 4
      for (std::size_t s = 0; s < kCount; ++s) {
        const std::uint64_t entry = lookup[word[s] & mask];
        word[s] >>= entry & 63;
        const std::uint64_t symbols = entry >> 16;
        std::memcpy(out[s], &symbols, 8);
        out[s] += entry >> 8 & 0xff;
      }
    }
#pragma GCC unroll 4
    for (std::size_t s = 0; s < kCount; ++s) {
      bit[s] += static_cast<unsigned>(__builtin_clzll(word[s]));
      in[s] += bit[s] / 8;
      bit[s] %= 8;
    }
  }
  for (std::size_t s = 0; s < kCount; ++s) {
    streams[s]->in = in[s];
    streams[s]->out = out[s];
    streams[s]->bit = bit[s];
  }
}

void read_fast(std::array<StreamReader, kStreams>& streams, const std::uint64_t* lookup,
               std::uint64_t mask) {
  std::array<StreamReader*, kStreams> active;
  std::size_t count = 0;
  for (StreamReader& stream : streams) active[count++] = &stream;
  while (count > 0) {
    std::size_t loads = SIZE_MAX;
    for (std::size_t i = 0; i < count;) {
      const std::size_t safe = active[i]->loads();
      if (safe == 0) {
        active[i] = active[--count];
      } else {
        loads = std::min(loads, safe);
        ++i;
      }
    }
    if (count == 4) read_loads<4>(active.data(), loads, lookup, mask);
    if (count == 3) read_loads<3>(active.data(), loads, lookup, mask);
    if (count == 2) read_loads<2>(active.data(), loads, lookup, mask);
    if (count == 1) read_loads<1>(active.data(), loads, lookup, mask);
  }
}

// What is left, symbol by symbol. False unless it ends with the stream.
bool read_rest(StreamReader& reader, const HuffmanTables::Decode& t, std::uint64_t mask) {
  while (reader.out < reader.out_end) {
    if (reader.in >= reader.in_end) return false;
    std::uint32_t word = 0;
    std::memcpy(&word, reader.in,
                std::min<std::size_t>(4, static_cast<std::size_t>(reader.in_end - reader.in)));
    const auto symbol = static_cast<std::uint8_t>(t.lookup[(word >> reader.bit) & mask] >> 16);
    *reader.out++ = symbol;
    const unsigned bit = reader.bit + t.lengths[symbol];
    if (bit / 8 > reader.in_end - reader.in) return false;
    reader.in += bit / 8;
    reader.bit = bit % 8;
  }
  if (reader.bit == 0) return reader.in == reader.in_end;
  return reader.in_end - reader.in == 1 && std::to_integer<unsigned>(*reader.in) >> reader.bit == 0;
}

Unexpected<DecodeError> refuse(const char* what, std::size_t byte_offset) {
  return Unexpected{DecodeError{what, byte_offset}};
}

// Returns the offset behind the lengths.
Decoded<std::size_t> read_lengths(std::span<const std::byte> coded, std::uint8_t* lengths) {
  if (coded.size() < 3) return refuse("code lengths are cut off", coded.size());
  const unsigned first = std::to_integer<unsigned>(coded[1]);
  const unsigned span = std::to_integer<unsigned>(coded[2]) + 1;
  const std::size_t end = 3 + (span + 1) / 2;
  if (coded.size() < end) return refuse("code lengths are cut off", coded.size());
  std::memset(lengths, 0, 256);
  unsigned units = 0;
  for (unsigned i = 0; i < span; ++i) {
    const unsigned length = std::to_integer<unsigned>(coded[3 + i / 2]) >> (i % 2 * 4) & 15;
    if (length > kCodeBitsMax) return refuse("a code is too long", 3 + i / 2);
    if (length == 0 && (i == 0 || i + 1 == span)) {
      return refuse("the window of symbols is too wide", 3 + i / 2);
    }
    lengths[(first + i) & 0xff] = static_cast<std::uint8_t>(length);
    if (length != 0) units += 1u << (kCodeBitsMax - length);
  }
  if (units != 1u << kCodeBitsMax) return refuse("codes are not complete", 3);
  if (span % 2 != 0 && std::to_integer<unsigned>(coded[end - 1]) >> 4 != 0) {
    return refuse("code lengths are followed by rubbish", end - 1);
  }
  return end;
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
  const Lengths lengths = lengths_of(counts);

  const std::size_t header_bytes = 3 + (window.span + 1) / 2 + kStreamSizesBytes;
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

Decoded<void> huffman_decode(std::span<const std::byte> coded, std::span<std::uint8_t> symbols,
                             HuffmanTables& tables) {
  if (coded.empty()) return refuse("symbols are cut off", 0);
  const auto mode = std::to_integer<std::uint8_t>(coded[0]);
  if (mode == kRaw) {
    if (coded.size() != 1 + symbols.size()) return refuse("raw symbols of a wrong size", 1);
    if (!symbols.empty()) std::memcpy(symbols.data(), coded.data() + 1, symbols.size());
    return {};
  }
  if (mode == kOneSymbol) {
    if (coded.size() != 2) return refuse("one symbol of a wrong size", 1);
    std::fill(symbols.begin(), symbols.end(), std::to_integer<std::uint8_t>(coded[1]));
    return {};
  }
  if (mode != kCoded) return refuse("symbols of an unknown mode", 0);

  HuffmanTables::Decode& t = tables.decode;
  const auto lengths_end = read_lengths(coded, t.lengths);
  if (!lengths_end) return Unexpected{lengths_end.error()};
  if (coded.size() - *lengths_end < kStreamSizesBytes) {
    return refuse("streams are cut off", coded.size());
  }
  std::array<StreamReader, kStreams> streams;
  std::size_t at = *lengths_end + kStreamSizesBytes;
  for (std::size_t stream = 0; stream < kStreams; ++stream) {
    const std::size_t left = coded.size() - at;
    const std::size_t bytes =
        stream + 1 == kStreams ? left : load_le<std::uint16_t>(coded, *lengths_end + 2 * stream);
    if (bytes > left) return refuse("streams are cut off", *lengths_end + 2 * stream);
    streams[stream] = {.in = coded.data() + at,
                       .in_end = coded.data() + at + bytes,
                       .out = symbols.data() + stream_begin(stream, symbols.size()),
                       .out_end = symbols.data() + stream_begin(stream + 1, symbols.size())};
    at += bytes;
  }

  // A wide table tells more symbols at once, and takes longer to fill.
  unsigned table_bits = *std::max_element(t.lengths, t.lengths + 256);
  if (symbols.size() >= 8192) table_bits = kCodeBitsMax;
  fill_lookup(t, table_bits);
  const std::uint64_t mask = (std::uint64_t{1} << table_bits) - 1;
  read_fast(streams, t.lookup, mask);
  for (StreamReader& stream : streams) {
    if (!read_rest(stream, t, mask)) {
      return refuse("symbols do not end with their stream",
                    static_cast<std::size_t>(stream.in_end - coded.data()));
    }
  }
  return {};
}

}  // namespace gradwire
