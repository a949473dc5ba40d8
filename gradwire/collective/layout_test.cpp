// What a layout promises, for lists of tensors of all kinds: nothing is lost, doubled or moved,
// cuts are where codecs allow them, and owners share evenly.
#include "gradwire/collective/layout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <string>

namespace gradwire {
namespace {

struct Case {
  std::vector<std::size_t> tensors;
  LayoutOptions options;

  std::size_t total() const {
    return std::accumulate(tensors.begin(), tensors.end(), std::size_t{0});
  }
  // What a segment or a piece may have at most: a multiple of the unit, and at least one.
  std::size_t in_units(std::size_t elements) const {
    return std::max(options.unit_elements,
                    elements / options.unit_elements * options.unit_elements);
  }
  std::size_t segment_elements() const { return in_units(options.segment_elements_max); }
  std::size_t piece_elements() const { return in_units(options.piece_elements_max); }

  std::string text() const {
    std::string text = std::to_string(options.ranks) + " ranks, unit " +
                       std::to_string(options.unit_elements) + ", segment " +
                       std::to_string(options.segment_elements_max) + ", piece " +
                       std::to_string(options.piece_elements_max) + ", tensors";
    for (const std::size_t elements : tensors) text += ' ' + std::to_string(elements);
    return text;
  }
};

// Lists of none to many tensors, empty ones among them, small beside large, cut coarsely and
// finely.
std::vector<Case> random_cases(std::size_t count) {
  std::mt19937 random(1);
  const auto below = [&](std::size_t end) { return random() % end; };
  std::vector<Case> cases;
  for (std::size_t i = 0; i < count; ++i) {
    Case some;
    const std::size_t largest = std::size_t{1} << below(14);
    for (std::size_t left = below(20); left > 0; --left) {
      some.tensors.push_back(below(4) == 0 ? 0 : below(largest + 1));
    }
    some.options.ranks = 1 + below(9);
    some.options.unit_elements = std::vector<std::size_t>{1, 16, 48, 512, 5000}[below(5)];
    some.options.segment_elements_max = std::size_t{1} << below(13);
    some.options.piece_elements_max = std::size_t{1} << below(13);
    cases.push_back(std::move(some));
  }
  return cases;
}

template <class Check>
void for_many_cases(Check check) {
  for (const Case& some : random_cases(2000)) {
    SCOPED_TRACE(some.text());
    check(some, lay_out(some.tensors, some.options));
    if (testing::Test::HasFailure()) return;  // one case is enough to look at
  }
}

std::size_t elements_of(const Layout& layout, const Chunk& chunk) {
  std::size_t elements = 0;
  for (const Segment& segment : layout.segments_of(chunk)) elements += segment.elements;
  return elements;
}

TEST(Layout, PiecesCoverEveryElementOnceInOrder) {
  for_many_cases([](const Case& some, const Layout& layout) {
    std::size_t tensor = 0, element = 0;
    for (const Piece& piece : layout.pieces) {
      while (tensor < some.tensors.size() && element == some.tensors[tensor]) {
        ++tensor;
        element = 0;
      }
      ASSERT_EQ(piece.of_tensor.tensor, tensor);
      ASSERT_EQ(piece.of_tensor.first, element);
      ASSERT_GT(piece.of_tensor.elements, 0u);
      element += piece.of_tensor.elements;
      ASSERT_LE(element, some.tensors[tensor]);
    }
    for (; tensor < some.tensors.size(); ++tensor, element = 0) {
      ASSERT_EQ(element, some.tensors[tensor]);
    }
  });
}

TEST(Layout, PiecesAreAsLongAsTheyMayBe) {
  for_many_cases([](const Case& some, const Layout& layout) {
    for (const Segment& segment : layout.segments) {
      const std::span<const Piece> pieces = layout.pieces_of(segment);
      for (std::size_t i = 0; i < pieces.size(); ++i) {
        ASSERT_LE(pieces[i].of_tensor.elements, some.piece_elements());
        const bool goes_on = i + 1 < pieces.size() && pieces[i].part == pieces[i + 1].part;
        if (goes_on) {
          ASSERT_EQ(pieces[i].of_tensor.elements, some.piece_elements());
        }
      }
    }
  });
}

TEST(Layout, SegmentsAreStretchesOfTheRow) {
  for_many_cases([](const Case& some, const Layout& layout) {
    std::size_t row = 0, piece = 0;
    for (const Segment& segment : layout.segments) {
      ASSERT_EQ(segment.first_element, row);
      ASSERT_EQ(segment.first_piece, piece);
      ASSERT_GT(segment.piece_count, 0u);
      std::size_t elements = 0;
      for (const Piece& part : layout.pieces_of(segment)) elements += part.of_tensor.elements;
      ASSERT_EQ(segment.elements, elements);
      ASSERT_LE(elements, some.segment_elements());
      row += segment.elements;
      piece += segment.piece_count;
    }
    ASSERT_EQ(row, some.total());
    ASSERT_EQ(piece, layout.pieces.size());
  });
}

TEST(Layout, TensorsAreCutAtMultiplesOfTheUnit) {
  for_many_cases([](const Case& some, const Layout& layout) {
    for (const Piece& piece : layout.pieces) {
      const auto& [tensor, first, elements] = piece.of_tensor;
      ASSERT_EQ(first % some.options.unit_elements, 0u);
      if (first + elements < some.tensors[tensor]) {
        ASSERT_EQ((first + elements) % some.options.unit_elements, 0u);
      }
    }
  });
}

// Small tensors share segments: a frame has a header of 80 bytes, and each is a message.
TEST(Layout, OnlyTheLastSegmentOfAChunkHasRoomForAnotherUnit) {
  for_many_cases([](const Case& some, const Layout& layout) {
    for (const Chunk& chunk : layout.chunks) {
      const std::span<const Segment> segments = layout.segments_of(chunk);
      for (std::size_t i = 0; i + 1 < segments.size(); ++i) {
        ASSERT_GT(segments[i].elements + some.options.unit_elements, some.segment_elements());
      }
    }
  });
}

TEST(Layout, ChunksFollowOneAnotherInTheOrderOfRanks) {
  for_many_cases([](const Case& some, const Layout& layout) {
    ASSERT_EQ(layout.chunks.size(), some.options.ranks);
    std::size_t segment = 0, part = 0;
    for (const Chunk& chunk : layout.chunks) {
      ASSERT_EQ(chunk.segment_count == 0, chunk.part_count == 0);
      if (chunk.segment_count == 0) continue;
      ASSERT_EQ(chunk.first_segment, segment);
      ASSERT_EQ(chunk.first_part, part);
      segment += chunk.segment_count;
      part += chunk.part_count;
    }
    ASSERT_EQ(segment, layout.segments.size());
    ASSERT_EQ(part, layout.parts.size());
  });
}

// Each end of a chunk is at the place nearest to the even share, at most half a unit away.
TEST(Layout, ChunksDifferFromAnEvenShareByAtMostAUnit) {
  for_many_cases([](const Case& some, const Layout& layout) {
    const std::size_t share = some.total() / some.options.ranks;
    for (const Chunk& chunk : layout.chunks) {
      const std::size_t elements = elements_of(layout, chunk);
      ASSERT_LE(elements, share + some.options.unit_elements + 1);
      ASSERT_GE(elements + some.options.unit_elements, share);
    }
  });
}

TEST(Layout, PartsAreWhatAChunkHasOfEachTensor) {
  for_many_cases([](const Case&, const Layout& layout) {
    std::vector<std::size_t> covered(layout.parts.size());
    for (const Chunk& chunk : layout.chunks) {
      for (const Segment& segment : layout.segments_of(chunk)) {
        for (const Piece& piece : layout.pieces_of(segment)) {
          ASSERT_GE(piece.part, chunk.first_part);
          ASSERT_LT(piece.part, chunk.first_part + chunk.part_count);
          const Part& part = layout.parts[piece.part];
          ASSERT_EQ(part.tensor, piece.of_tensor.tensor);
          ASSERT_EQ(part.first + piece.first_in_part, piece.of_tensor.first);
          ASSERT_EQ(covered[piece.part], piece.first_in_part);
          covered[piece.part] += piece.of_tensor.elements;
        }
      }
      const std::span<const Part> parts = layout.parts_of(chunk);
      for (std::size_t i = 1; i < parts.size(); ++i) {
        ASSERT_GT(parts[i].tensor, parts[i - 1].tensor);  // one part a tensor
      }
    }
    for (std::size_t i = 0; i < covered.size(); ++i) {
      ASSERT_EQ(covered[i], layout.parts[i].elements);
    }
  });
}

TEST(Layout, OnlyOwnerOwnsAll) {
  for (Case some : random_cases(300)) {
    for (std::size_t owner = 0; owner < some.options.ranks; ++owner) {
      some.options.only_owner = owner;
      SCOPED_TRACE(some.text() + ", owner " + std::to_string(owner));
      const Layout layout = lay_out(some.tensors, some.options);
      for (std::size_t rank = 0; rank < some.options.ranks; ++rank) {
        const std::size_t expected = rank == owner ? some.total() : 0;
        ASSERT_EQ(elements_of(layout, layout.chunks[rank]), expected);
      }
    }
  }
}

TEST(Layout, NothingToDealOutGivesEmptyChunks) {
  for (const std::vector<std::size_t>& tensors : {std::vector<std::size_t>{}, {0}, {0, 0, 0}}) {
    const Layout layout =
        lay_out(tensors, {.ranks = 3, .segment_elements_max = 100, .piece_elements_max = 100});
    EXPECT_EQ(layout.chunks.size(), 3u);
    EXPECT_TRUE(layout.parts.empty() && layout.pieces.empty() && layout.segments.empty());
  }
}

TEST(Layout, EmptyTensorsTakeNoPieces) {
  const std::vector<std::size_t> tensors = {0, 5, 0, 0, 7, 0};
  const Layout layout =
      lay_out(tensors, {.ranks = 1, .segment_elements_max = 100, .piece_elements_max = 100});
  ASSERT_EQ(layout.pieces.size(), 2u);
  EXPECT_EQ(layout.pieces[0].of_tensor.tensor, 1u);
  EXPECT_EQ(layout.pieces[1].of_tensor.tensor, 4u);
  EXPECT_EQ(layout.segments.size(), 1u);
}

TEST(Layout, TensorOfLessThanAUnitIsNotCut) {
  const std::vector<std::size_t> tensors = {100, 100, 100, 100};
  const Layout layout = lay_out(
      tensors,
      {.ranks = 8, .unit_elements = 512, .segment_elements_max = 1024, .piece_elements_max = 1024});
  EXPECT_EQ(layout.pieces.size(), 4u);
  for (const Piece& piece : layout.pieces) EXPECT_EQ(piece.of_tensor.elements, 100u);
}

TEST(Layout, SharesOfHugeTensorsDoNotOverflow) {
  constexpr std::size_t kHuge = std::size_t{1} << 62;
  const std::vector<std::size_t> tensors = {kHuge, kHuge};
  const Layout layout = lay_out(tensors, {.ranks = 7,
                                          .unit_elements = 512,
                                          .segment_elements_max = kHuge,
                                          .piece_elements_max = kHuge});
  for (const Chunk& chunk : layout.chunks) {
    const std::size_t elements = elements_of(layout, chunk);
    EXPECT_LE(elements, 2 * (kHuge / 7) + 1000);
    EXPECT_GE(elements, 2 * (kHuge / 7) - 1000);
  }
}

}  // namespace
}  // namespace gradwire
