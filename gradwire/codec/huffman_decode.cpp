#include <algorithm>
#include <array>
#include <cstring>

#include "gradwire/codec/huffman_code.h"
#include "gradwire/core/bytes.h"

namespace gradwire {

using namespace huffman;

namespace {

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
