// The memory of what did not go down, at the owner of a chunk: w = a + e_o; sends q = D(w);
// e_o = w - q. For the methods whose downlink has an error memory.
#pragma once

#include <span>
#include <vector>

#include "gradwire/kernel/combine.h"
#include "gradwire/method/rule.h"
#include "gradwire/method/scaling.h"

namespace gradwire {

class DownlinkError {
 public:
  // Without a downlink that rounds, nothing is kept.
  explicit DownlinkError(RuleWorkspace& workspace)
      : workspace_(workspace), scales_(workspace.tensors.size(), 1.0F) {
    if (!workspace.has_downlink) return;
    error_ = workspace.add_owner_memory("downlink error");
    scales_ = contraction_scales(*workspace.codecs.down, workspace.tensors);
  }

  // What all ranks multiply by that what came down.
  float scale(std::size_t tensor) const { return scales_[tensor]; }

  // All of a tensor's memory on this rank.
  void rescale(std::size_t tensor, float factor) {
    if (factor == 1) return;
    for (const TensorPiece& piece : workspace_.owned) {
      if (piece.tensor != tensor) continue;
      for (float& value : workspace_.memories[error_].at(piece)) value *= factor;
    }
  }

  // `mean` is to be multiplied by `up_scale`, and the memory by `factor`.
  void prepare(const TensorPiece& piece, std::span<const float> mean, float up_scale, float factor,
               std::span<float> wanted) {
    kernel::combine(up_scale, mean, factor, workspace_.memories[error_].at(piece), wanted);
  }
  void commit(const TensorPiece& piece, std::span<const float> mean, float up_scale, float factor,
              std::span<const float> sent) {
    const std::span<float> error = workspace_.memories[error_].at(piece);
    kernel::combine(up_scale, mean, factor, error, error);
    kernel::combine(1, error, -scales_[piece.tensor], sent, error);
  }

 private:
  RuleWorkspace& workspace_;
  std::size_t error_ = 0;
  std::vector<float> scales_;
};

}  // namespace gradwire
