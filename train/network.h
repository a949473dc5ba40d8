// Network: layers from input to scores of classes, on libtorch's tensors. Layout: what parameters
// and statistics the layers have. Only files of networks include this; everybody else sees a Model.
#pragma once

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "train/initial_weights.h"
#include "train/model.h"

namespace gradwire::train {

// One way through a network.
struct Pass {
  bool is_training = false;
  Draw draw = {};  // while training
};

class Network {
 public:
  virtual ~Network() = default;

  // The input is samples x channels x height x width, samples x features, or samples x tokens; the
  // result is one row of scores for each target.
  virtual at::Tensor forward(const at::Tensor& input, const Pass& pass) const = 0;
};

// Layers ask for their tensors one after the other, from the input to the output. The tensors get
// their final memory when the network is complete, and are not to be read before that.
class Layout {
 public:
  struct Entry {
    std::string name;
    at::Tensor tensor;
    InitialWeights initial;
  };

  // Throws Error when there are too many.
  at::Tensor parameter(std::string name, at::IntArrayRef shape, const InitialWeights& initial);
  // Without gradient, and changed in place by training.
  at::Tensor statistics(std::size_t elements, double initial);

  const std::vector<Entry>& parameters() const { return parameters_; }
  const std::vector<Entry>& all_statistics() const { return statistics_; }

 private:
  std::vector<Entry> parameters_;
  std::int64_t elements_ = 0;  // of parameters
  std::vector<Entry> statistics_;
};

}  // namespace gradwire::train
