// One forward and backward pass over some samples, in parts where they do not fit at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "data/source.h"
#include "train/model.h"

namespace gradwire::train {

struct BatchDraw {
  std::uint64_t seed = 0;
  std::uint64_t step = 0;
  std::size_t rank = 0;  // of those who share the step's samples
  std::size_t parts = 1;
};

// Adds the gradient of the samples' mean loss to the model's. Without samples it adds nothing.
// `ready`, if there is one, is called as Model::learn does, in the last part. `batch` is memory to
// work in.
Score learn_batch(Model& model, const data::Source& source, std::span<const std::uint32_t> samples,
                  const BatchDraw& draw, data::Batch& batch, const Model::Ready& ready = {});

}  // namespace gradwire::train
