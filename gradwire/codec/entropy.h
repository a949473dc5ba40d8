// The entropy stage: symbol planes as Huffman-coded chunks of kHuffmanSymbolsMax elements, the last
// one shorter. A chunk has the streams of every plane in turn (see plane_streams.h), each as a
// length and as many bytes in the code of huffman.h. A length is written in sevens of bits, lowest
// first, one a byte; bit 7 says that another one follows, and three are the most.
//
// For one thread at a time: both directions work in the caller's buffers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "gradwire/codec/buffers.h"
#include "gradwire/codec/plane_streams.h"
#include "gradwire/core/expected.h"

namespace gradwire {

// The most bytes that chunks of `count` elements take.
std::size_t entropy_bytes_max(std::span<const Plane> planes, std::size_t count);

// Where the streams of all planes lie, for elements from `first` on, if `elements` have room.
struct StreamPlaces {
  StreamPlaces(std::span<const Plane> planes, std::uint8_t* memory, std::size_t elements,
               std::size_t first);

  std::uint8_t* at[kPlanesMax][kStreamsMax] = {};
};

// Takes the planes of one block after the other, and gives chunks.
class EntropyEncoder {
 public:
  EntropyEncoder(std::span<const Plane> planes, Workspace::Buffers& buffers);

  // The block in the buffers; it is scribbled on.
  void add(std::size_t count);
  bool is_chunk_full() const { return count_ == kHuffmanSymbolsMax; }
  // Codes what was added since the last chunk. Returns the bytes used.
  std::size_t write_chunk(std::span<std::byte> payload);

 private:
  const std::span<const Plane> planes_;
  Workspace::Buffers& buffers_;
  std::uint8_t* const memory_;
  std::size_t count_ = 0;
};

// Gives the planes of one block after the other, once all chunks were found to be sound.
class EntropyDecoder {
 public:
  EntropyDecoder(std::span<const Plane> planes, std::size_t elements, Workspace::Buffers& buffers);

  // All of `payload` from `at` on. Offsets of errors are the payload's.
  Decoded<void> read(std::span<const std::byte> payload, std::size_t at);
  // The block of `count` elements from `first` on comes to the buffers. Returns where the symbols
  // behind those of its first plane lie, for whoever wants to ask for them ahead.
  const std::uint8_t* take(std::size_t first, std::size_t count);

 private:
  Decoded<std::size_t> read_stream(std::span<const std::byte> payload, std::size_t at,
                                   std::span<std::uint8_t> symbols);

  const std::span<const Plane> planes_;
  const std::size_t elements_;
  Workspace::Buffers& buffers_;
  std::uint8_t* const memory_;
};

}  // namespace gradwire
