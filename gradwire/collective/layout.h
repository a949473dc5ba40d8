// Layout: how a list of tensors is dealt out to owners and cut into segments. A pure function: all
// ranks have the same layout without talking.
//
// The tensors are seen as one row of elements. Each owner's chunk is a stretch of the row, a
// segment is a stretch of a chunk and travels as one frame, and a piece is what is encoded by one
// call: some of a segment's elements of one tensor. Many small tensors share a frame, and a large
// one takes many frames, each of several pieces: frames are long because each costs a system call
// or more, pieces are short so that work on one stays in the cache.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "gradwire/collective/exchange.h"

namespace gradwire {

// What an owner owns of one tensor. To the downlink's codec it is a tensor of its own.
struct Part {
  std::size_t tensor = 0;
  std::size_t first = 0;  // element of the tensor
  std::size_t elements = 0;
};

struct Piece {
  TensorPiece of_tensor;
  std::size_t part = 0;           // index into Layout::parts
  std::size_t first_in_part = 0;  // element of the part
};

struct Segment {
  std::size_t first_element = 0;  // in the row
  std::size_t elements = 0;
  std::size_t first_piece = 0;  // index into Layout::pieces
  std::size_t piece_count = 0;
};

// By index into Layout::segments and Layout::parts.
struct Chunk {
  std::size_t first_segment = 0;
  std::size_t segment_count = 0;
  std::size_t first_part = 0;
  std::size_t part_count = 0;
};

struct Layout {
  std::vector<Part> parts;
  std::vector<Piece> pieces;
  std::vector<Segment> segments;
  std::vector<Chunk> chunks;  // by rank

  std::span<const Piece> pieces_of(const Segment& segment) const {
    return std::span(pieces).subspan(segment.first_piece, segment.piece_count);
  }
  std::span<const Segment> segments_of(const Chunk& chunk) const {
    return std::span(segments).subspan(chunk.first_segment, chunk.segment_count);
  }
  std::span<const Part> parts_of(const Chunk& chunk) const {
    return std::span(parts).subspan(chunk.first_part, chunk.part_count);
  }
};

struct LayoutOptions {
  std::size_t ranks = 1;
  std::optional<std::size_t> only_owner = {};  // this rank owns all
  std::span<const double> shares = {};         // by rank, of all elements; empty: they share evenly
  std::size_t unit_elements = 1;               // tensors are cut at multiples of this
  std::size_t segment_elements_max = 1;
  std::size_t piece_elements_max = 1;
};

// How many elements travel as one frame by default, with that many in a chunk: few enough
// that some frames travel while others are worked on, and enough that the cost of a frame does not
// count. Where uploads are kept, a chunk is one frame as long as that is not too large: to say that
// the last one holds again is then one small frame.
std::size_t segment_elements(std::size_t chunk_elements, bool keeps_uploads = false);

Layout lay_out(std::span<const std::size_t> tensor_elements, const LayoutOptions& options);

}  // namespace gradwire
