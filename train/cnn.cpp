// cnn(channels=16, hidden=256): two convolutions, each with a pool of 2 x 2, and two fully
// connected layers. Small enough for an epoch of Fashion-MNIST to take seconds on one core.
#include <ATen/ops/max_pool2d.h>

#include "train/design.h"
#include "train/layers.h"

namespace gradwire::train {
namespace {

using data::SampleShape;

struct CnnOptions {
  std::size_t channels = 16;  // of the first convolution; the second has twice as many
  std::size_t hidden = 256;

  std::string spec() const {
    return "cnn(channels=" + std::to_string(channels) + ", hidden=" + std::to_string(hidden) + ")";
  }
};

class Cnn final : public Network {
 public:
  Cnn(const CnnOptions& options, const SampleShape& shape, Layout& layout)
      : conv1_(layout, "conv1",
               {.inputs = shape.channels, .outputs = options.channels, .has_bias = true}),
        conv2_(layout, "conv2",
               {.inputs = options.channels, .outputs = 2 * options.channels, .has_bias = true}),
        fc1_(layout, "fc1", features(options, shape), options.hidden,
             InitialWeights::before_relu(features(options, shape))),
        fc2_(layout, "fc2", options.hidden, shape.classes,
             InitialWeights::before_loss(options.hidden)) {}

  at::Tensor forward(const at::Tensor& input, const Pass&) const override {
    // A ReLU after the pool is the same as before it, and has a quarter of the work.
    at::Tensor x = at::max_pool2d(conv1_(channels_last(input)), 2).relu_();
    x = at::max_pool2d(conv2_(x), 2).relu_();
    return fc2_(fc1_(x.flatten(1)).relu_());
  }

 private:
  static std::size_t features(const CnnOptions& options, const SampleShape& shape) {
    return 2 * options.channels * (shape.height / 4) * (shape.width / 4);
  }

  Convolution conv1_;
  Convolution conv2_;
  Linear fc1_;
  Linear fc2_;
};

Design read_cnn(StageReader& reader) {
  const CnnOptions options{
      .channels = static_cast<std::size_t>(reader.integer("channels", 16, 1, 1024)),
      .hidden = static_cast<std::size_t>(reader.integer("hidden", 256, 1, 65536))};
  return {options.spec(), [options](const SampleShape& shape, Layout& layout) {
            return std::make_unique<Cnn>(options, shape, layout);
          }};
}

}  // namespace

// The pools leave one pixel of 4.
ModelFamily cnn_model() {
  return {.name = "cnn",
          .read = read_cnn,
          .usual_data = "fashion-mnist",
          .takes = "images of at least 4 x 4 pixels",
          .fits = [](const SampleShape& shape) { return are_images(shape, 4); }};
}

}  // namespace gradwire::train
