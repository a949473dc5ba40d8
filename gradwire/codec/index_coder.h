// IndexCoder: codes the indices of a sparse tensor as its IndexHistory predicts them. For each row
// of the tensor, how many indices it has; then where they are. The elements of a row lie on a line,
// each as long as its weight. From one index on, the line is cut into cells that have an index
// about every second time; the next one is coded as the number of cells before its own, and as its
// share of that cell. Only scratch memory: for one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "gradwire/codec/index_history.h"
#include "gradwire/codec/range_coder.h"
#include "gradwire/core/expected.h"

namespace gradwire {

class IndexCoder {
 public:
  // Indices rise; there are history.kept().
  void encode(const IndexHistory& history, std::span<const std::uint32_t> indices,
              RangeEncoder& out);

  // The same number of rising indices below history.elements(), or the reason why there are none.
  Decoded<void> decode(const IndexHistory& history, RangeDecoder& in,
                       std::span<std::uint32_t> indices);

 private:
  std::vector<std::uint32_t> sums_;
};

}  // namespace gradwire
