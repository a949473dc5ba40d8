// KernelCoder: codes the indices of a sparse convolution, as its KernelHistory and the model
// predict them, bit by bit. Only scratch memory: for one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "gradwire/codec/kernel_history.h"
#include "gradwire/codec/range_coder.h"
#include "gradwire/core/expected.h"

namespace gradwire {

class KernelCoder {
 public:
  // Indices rise; there are history.kept().
  void encode(const KernelHistory& history, const KernelModel& model,
              std::span<const std::uint32_t> indices, RangeEncoder& out);

  // The same number of rising indices of the tensor, or the reason why there are none.
  Decoded<void> decode(const KernelHistory& history, const KernelModel& model, RangeDecoder& in,
                       std::span<std::uint32_t> indices);

 private:
  std::vector<std::uint32_t> column_counts_;
};

}  // namespace gradwire
