#include "train/layers.h"

#include <ATen/ops/avg_pool2d.h>
#include <ATen/ops/batch_norm.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/linear.h>

#include <span>

#include "gradwire/core/check.h"
#include "gradwire/core/random.h"
#include "train/dropout.h"

namespace gradwire::train {
namespace {

std::int64_t signed_size(std::size_t size) { return static_cast<std::int64_t>(size); }

}  // namespace

Linear::Linear(Layout& layout, const std::string& name, std::size_t inputs, std::size_t outputs,
               const InitialWeights& initial)
    : weight_(
          layout.parameter(name + ".weight", {signed_size(outputs), signed_size(inputs)}, initial)),
      bias_(layout.parameter(name + ".bias", {signed_size(outputs)}, InitialWeights::constant(0))) {
}

at::Tensor Linear::operator()(const at::Tensor& x) const { return at::linear(x, weight_, bias_); }

Convolution::Convolution(Layout& layout, const std::string& name, const Options& options)
    : stride_(signed_size(options.stride)), padding_(signed_size(options.kernel / 2)) {
  const std::int64_t size = signed_size(options.kernel);
  weight_ = layout.parameter(
      name + ".weight", {signed_size(options.outputs), signed_size(options.inputs), size, size},
      InitialWeights::before_relu(options.inputs * options.kernel * options.kernel));
  if (options.has_bias) {
    bias_ = layout.parameter(name + ".bias", {signed_size(options.outputs)},
                             InitialWeights::constant(0));
  }
}

at::Tensor Convolution::operator()(const at::Tensor& x) const {
  const bool has_one_pixel = weight_.size(2) == 1;
  if (!has_one_pixel || stride_ == 1) return at::conv2d(x, weight_, bias_, stride_, padding_);
  // oneDNN 2.6.3 writes past its memory for this kernel with a stride (docs/onednn.md). So the
  // stride is taken first. A pool of one pixel copies values, and unlike a slice it keeps gradients
  // in channels-last order.
  return at::conv2d(at::avg_pool2d(x, /*kernel_size=*/1, stride_), weight_, bias_);
}

BatchNorm::BatchNorm(Layout& layout, const std::string& name, std::size_t channels)
    : weight_(
          layout.parameter(name + ".weight", {signed_size(channels)}, InitialWeights::constant(1))),
      bias_(layout.parameter(name + ".bias", {signed_size(channels)}, InitialWeights::constant(0))),
      running_mean_(layout.statistics(channels, 0)),
      running_variance_(layout.statistics(channels, 1)) {}

at::Tensor BatchNorm::operator()(const at::Tensor& x, const Pass& pass) const {
  constexpr double kMomentum = 0.1;  // the weight of a batch in the running statistics
  constexpr double kEpsilon = 1e-5;
  return at::batch_norm(x, weight_, bias_, running_mean_, running_variance_, pass.is_training,
                        kMomentum, kEpsilon, /*cudnn_enabled=*/false);
}

LayerNorm::LayerNorm(Layout& layout, const std::string& name, std::size_t width)
    : weight_(
          layout.parameter(name + ".weight", {signed_size(width)}, InitialWeights::constant(1))),
      bias_(layout.parameter(name + ".bias", {signed_size(width)}, InitialWeights::constant(0))) {}

at::Tensor LayerNorm::operator()(const at::Tensor& x) const {
  return at::layer_norm(x, weight_.sizes(), weight_, bias_);
}

Dropout::Dropout(const std::string& name, double share)
    : layer_(Rng::tensor_id("dropout of " + name)), share_(share) {}

at::Tensor Dropout::operator()(const at::Tensor& x, const Pass& pass) const {
  if (!pass.is_training || share_ == 0) return x;
  const at::Tensor factors = at::empty(x.sizes(), x.options());
  draw_dropout(pass.draw, layer_, share_,
               std::span(factors.data_ptr<float>(), static_cast<std::size_t>(factors.numel())));
  return x * factors;
}

at::Tensor channels_last(const at::Tensor& image) {
  GW_CHECK(image.dim() == 4 && image.is_contiguous());
  if (image.size(1) > 1) return image.contiguous(at::MemoryFormat::ChannelsLast);
  // With one channel both orders are the same memory, and only the strides tell which is meant.
  const std::int64_t width = image.size(3);
  return image.as_strided(image.sizes(), {image.size(2) * width, 1, width, 1});
}

}  // namespace gradwire::train
