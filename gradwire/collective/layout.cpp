#include "gradwire/collective/layout.h"

#include <algorithm>
#include <numeric>

#include "gradwire/core/check.h"

namespace gradwire {
namespace {

// A point in the list of tensors at which it may be cut.
struct CutPoint {
  std::size_t tensor = 0;
  std::size_t element = 0;  // of the tensor

  bool operator==(const CutPoint&) const = default;
};

class Cutter {
 public:
  Cutter(std::span<const std::size_t> tensors, const LayoutOptions& options)
      : tensors_(tensors),
        total_(std::accumulate(tensors.begin(), tensors.end(), std::size_t{0})),
        unit_(options.unit_elements),
        segment_elements_(at_least_a_unit(options.segment_elements_max)),
        piece_elements_(at_least_a_unit(options.piece_elements_max)) {}

  Layout cut(const LayoutOptions& options) {
    layout_.chunks.resize(options.ranks);
    CutPoint from{};
    double shared = 0;
    for (std::size_t rank = 0; rank < options.ranks; ++rank) {
      std::size_t end = even_end(rank, options.ranks);
      if (options.only_owner) end = rank < *options.only_owner ? 0 : total_;
      if (!options.shares.empty()) {
        shared += options.shares[rank];
        end = rank + 1 < options.ranks ? part_of_total(shared) : total_;
      }
      const CutPoint to = nearest_cut(end);
      if (!is_before(from, to)) continue;
      add_chunk(layout_.chunks[rank], from, to);
      from = to;
    }
    GW_CHECK(row_ == total_);
    return std::move(layout_);
  }

 private:
  std::size_t at_least_a_unit(std::size_t elements) const {
    return std::max(unit_, elements / unit_ * unit_);
  }

  static bool is_before(const CutPoint& a, const CutPoint& b) {
    return a.tensor != b.tensor ? a.tensor < b.tensor : a.element < b.element;
  }

  // Without overflow for any number of elements.
  std::size_t even_end(std::size_t rank, std::size_t ranks) const {
    return total_ / ranks * (rank + 1) + total_ % ranks * (rank + 1) / ranks;
  }

  std::size_t part_of_total(double share) const {
    const double end = std::clamp(share, 0.0, 1.0) * static_cast<double>(total_);
    return std::min(static_cast<std::size_t>(end), total_);
  }

  CutPoint nearest_cut(std::size_t row) const {
    for (std::size_t tensor = 0; tensor < tensors_.size(); ++tensor) {
      if (row < tensors_[tensor]) {
        const std::size_t element = (row + unit_ / 2) / unit_ * unit_;
        return element < tensors_[tensor] ? CutPoint{tensor, element} : CutPoint{tensor + 1, 0};
      }
      row -= tensors_[tensor];
    }
    return {tensors_.size(), 0};
  }

  void add_chunk(Chunk& chunk, CutPoint from, CutPoint to) {
    chunk.first_segment = layout_.segments.size();
    chunk.first_part = layout_.parts.size();
    for (CutPoint point = from; is_before(point, to); point = {point.tensor + 1, 0}) {
      const std::size_t end = point.tensor == to.tensor ? to.element : tensors_[point.tensor];
      if (end > point.element) add_part(chunk, point, end - point.element);
    }
    chunk.segment_count = layout_.segments.size() - chunk.first_segment;
    chunk.part_count = layout_.parts.size() - chunk.first_part;
  }

  void add_part(const Chunk& chunk, CutPoint from, std::size_t elements) {
    layout_.parts.push_back({from.tensor, from.element, elements});
    std::size_t done = 0;
    while (done < elements) {
      const bool is_first = layout_.segments.size() == chunk.first_segment;
      // A segment that is nearly full is not worth another piece.
      if (is_first || room() < std::min(elements - done, unit_)) {
        layout_.segments.push_back({row_, 0, layout_.pieces.size(), 0});
      }
      const std::size_t left = std::min(elements - done, piece_elements_);
      const std::size_t count = left <= room() ? left : room() / unit_ * unit_;
      layout_.pieces.push_back({.of_tensor = {from.tensor, from.element + done, count},
                                .part = layout_.parts.size() - 1,
                                .first_in_part = done});
      Segment& segment = layout_.segments.back();
      segment.elements += count;
      ++segment.piece_count;
      row_ += count;
      done += count;
    }
  }

  std::size_t room() const { return segment_elements_ - layout_.segments.back().elements; }

  std::span<const std::size_t> tensors_;
  const std::size_t total_;
  const std::size_t unit_;
  const std::size_t segment_elements_;
  const std::size_t piece_elements_;
  std::size_t row_ = 0;  // elements dealt out so far
  Layout layout_;
};

}  // namespace

std::size_t segment_elements(std::size_t chunk_elements, bool keeps_uploads) {
  constexpr std::size_t kLeast = std::size_t{1} << 17;
  constexpr std::size_t kMost = std::size_t{1} << 22;
  const std::size_t frames = keeps_uploads ? 1 : 4;
  return std::clamp((chunk_elements + frames - 1) / frames, kLeast, kMost);
}

Layout lay_out(std::span<const std::size_t> tensor_elements, const LayoutOptions& options) {
  GW_CHECK(options.ranks > 0 && options.unit_elements > 0);
  GW_CHECK(!options.only_owner || *options.only_owner < options.ranks);
  GW_CHECK(options.shares.empty() || options.shares.size() == options.ranks);
  return Cutter(tensor_elements, options).cut(options);
}

}  // namespace gradwire
