// The layers that networks are made of: each asks for its parameters when it is made, and is then
// called like a function. `name` comes before the names of the parameters: "fc1" has "fc1.weight".
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "train/initial_weights.h"
#include "train/network.h"

namespace gradwire::train {

// Rows of `inputs` numbers to rows of `outputs` numbers.
class Linear {
 public:
  Linear(Layout& layout, const std::string& name, std::size_t inputs, std::size_t outputs,
         const InitialWeights& initial);
  at::Tensor operator()(const at::Tensor& x) const;

 private:
  at::Tensor weight_;
  at::Tensor bias_;
};

// Square kernels of odd size. Without stride, the image keeps its size.
class Convolution {
 public:
  struct Options {
    std::size_t inputs = 0;
    std::size_t outputs = 0;
    std::size_t kernel = 3;
    std::size_t stride = 1;
    bool has_bias = false;
  };

  Convolution(Layout& layout, const std::string& name, const Options& options);
  at::Tensor operator()(const at::Tensor& x) const;

 private:
  at::Tensor weight_;
  at::Tensor bias_;  // undefined when there is none
  std::int64_t stride_;
  std::int64_t padding_;
};

// Over all samples and pixels of a channel.
class BatchNorm {
 public:
  BatchNorm(Layout& layout, const std::string& name, std::size_t channels);
  at::Tensor operator()(const at::Tensor& x, const Pass& pass) const;

 private:
  at::Tensor weight_;
  at::Tensor bias_;
  at::Tensor running_mean_;
  at::Tensor running_variance_;
};

// Over the numbers of a row.
class LayerNorm {
 public:
  LayerNorm(Layout& layout, const std::string& name, std::size_t width);
  at::Tensor operator()(const at::Tensor& x) const;

 private:
  at::Tensor weight_;
  at::Tensor bias_;
};

class Dropout {
 public:
  Dropout(const std::string& name, double share);
  at::Tensor operator()(const at::Tensor& x, const Pass& pass) const;

 private:
  std::uint64_t layer_;
  double share_;
};

// The same image with the channels of a pixel side by side, as convolutions, pools and batch norms
// are quickest here. What they make of it is again such an image.
at::Tensor channels_last(const at::Tensor& image);

}  // namespace gradwire::train
