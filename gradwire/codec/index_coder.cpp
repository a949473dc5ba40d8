#include "gradwire/codec/index_coder.h"

#include <algorithm>
#include <array>

#include "gradwire/core/check.h"

namespace gradwire {
namespace {

// The questions whether the next index lies behind a cell, by how many are to come and how many
// cells were skipped. They are learned within a message.
class CellModels {
 public:
  AdaptiveBit& at(std::size_t to_come, std::uint64_t skipped) {
    const std::size_t some = to_come == 1 ? 0 : to_come == 2 ? 1 : to_come < 6 ? 2 : 3;
    return models_[some][std::min<std::uint64_t>(skipped, 2)];
  }

 private:
  std::array<std::array<AdaptiveBit, 3>, 4> models_;
};

// Of a line of so much weight with so many indices to come. The last one may be anywhere: without
// cells, if the line is not too long.
std::uint32_t cell_size(std::uint32_t left, std::size_t to_come) {
  const std::uint64_t size = to_come == 1 ? left : std::uint64_t{left} * 11 / (16 * to_come);
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(size, 1, kRangeTotalMax));
}

}  // namespace

void IndexCoder::encode(const IndexHistory& history, std::span<const std::uint32_t> indices,
                        RangeEncoder& out) {
  GW_CHECK(indices.size() == history.kept());
  const std::size_t columns = history.columns();
  sums_.resize(columns + 1);
  CellModels cells;
  std::size_t at = 0;
  for (std::size_t row = 0; at < indices.size(); ++row) {
    const std::size_t first = row * columns;
    std::size_t end = at;
    while (end < indices.size() && indices[end] - first < columns) ++end;
    // The last row has all that is left.
    if (row + 1 < history.rows()) {
      CountModel model = history.count_model(row);
      model.walk(static_cast<std::uint32_t>(end - at), [&](bool bit, const AdaptiveBit* of_bit) {
        out.put_bit(bit, of_bit != nullptr ? *of_bit : AdaptiveBit());
      });
    }
    if (end == at) continue;
    history.add_weights(row, end - at, sums_);
    std::size_t next = 0;
    for (; at < end; ++at) {
      const std::size_t column = indices[at] - first;
      const std::size_t to_come = end - at;
      const std::uint32_t left = sums_[columns] - sums_[next];
      const std::uint32_t size = cell_size(left, to_come);
      const std::uint32_t skipped = (sums_[column] - sums_[next]) / size;
      for (std::uint32_t i = 0; i <= skipped && size < left; ++i) {
        AdaptiveBit& model = cells.at(to_come, i);
        out.put_bit(i < skipped, model);
        model.learn(i < skipped);
      }
      const std::uint32_t before = sums_[column] - sums_[next] - skipped * size;
      out.put(before, std::min(sums_[column + 1] - sums_[column], size - before), size);
      next = column + 1;
    }
  }
}

Decoded<void> IndexCoder::decode(const IndexHistory& history, RangeDecoder& in,
                                 std::span<std::uint32_t> indices) {
  GW_CHECK(indices.size() == history.kept());
  const auto refuse = [](const char* what) { return Unexpected{DecodeError{what, 0}}; };
  const std::size_t columns = history.columns();
  sums_.resize(columns + 1);
  CellModels cells;
  std::size_t at = 0;
  for (std::size_t row = 0; at < indices.size(); ++row) {
    std::size_t count = indices.size() - at;
    if (row + 1 < history.rows()) {
      const std::size_t rest = count;
      count = history.count_model(row).find([&](const AdaptiveBit* of_bit) {
        return in.bit(of_bit != nullptr ? *of_bit : AdaptiveBit());
      });
      if (count > rest) return refuse("a row has more indices than there are");
    }
    if (count > columns) return refuse("a row has more indices than columns");
    if (count == 0) continue;
    history.add_weights(row, count, sums_);
    std::size_t next = 0;
    for (; count > 0; --count) {
      const std::uint64_t left = sums_[columns] - sums_[next];
      if (left == 0) return refuse("an index is out of range");
      const std::uint32_t size = cell_size(static_cast<std::uint32_t>(left), count);
      std::uint64_t start = 0;  // of the cell, from the first possible element
      for (std::uint64_t skipped = 0; size < left; ++skipped) {
        AdaptiveBit& model = cells.at(count, skipped);
        const bool is_behind = in.bit(model);
        model.learn(is_behind);
        if (!is_behind) break;
        start += size;
        if (start >= left) return refuse("an index is out of range");
      }
      const std::uint64_t wanted = start + in.share(size);
      if (wanted >= left) return refuse("an index is out of range");
      // The element that has this place on the line.
      const auto from = sums_.begin() + static_cast<std::ptrdiff_t>(next);
      const auto behind =
          std::upper_bound(from, sums_.end(), static_cast<std::uint32_t>(wanted + *from));
      const auto column = static_cast<std::size_t>(behind - sums_.begin()) - 1;
      const std::uint64_t before = sums_[column] - sums_[next];
      if (before < start) return refuse("an index lies between two cells");
      const auto in_cell = static_cast<std::uint32_t>(before - start);
      in.take(in_cell, std::min(sums_[column + 1] - sums_[column], size - in_cell));
      indices[at++] = static_cast<std::uint32_t>(row * columns + column);
      next = column + 1;
    }
  }
  return {};
}

}  // namespace gradwire
