// The entropy stage: lossless coding of one-byte symbols by zstd, used as a plain Huffman coder.
// Owns zstd's contexts; one a thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "gradwire/core/expected.h"

namespace gradwire {

class EntropyCoder {
 public:
  // Symbols are coded this many at a time: what zstd takes as one block.
  static constexpr std::size_t kChunkSymbols = 128 * 1024;

  EntropyCoder();
  ~EntropyCoder();

  static std::size_t coded_bytes_max(std::size_t symbols);

  // At most kChunkSymbols. Returns the bytes used.
  std::size_t encode(std::span<const std::uint8_t> symbols, std::span<std::byte> coded);

  // Fills all of `symbols`, or says why the bytes do not.
  Decoded<void> decode(std::span<const std::byte> coded, std::span<std::uint8_t> symbols);

 private:
  struct Contexts;
  Contexts& contexts();
  std::unique_ptr<Contexts> contexts_;
};

}  // namespace gradwire
