// segmenter(channels=16): an encoder and a decoder that give each pixel of an image a class. Two
// pools of 2 x 2 lead to a quarter of the resolution, two repetitions of pixels back; at each
// resolution the decoder also gets what the encoder had there (U-Net, Ronneberger et al. 2015).
#include <ATen/ops/cat.h>
#include <ATen/ops/max_pool2d.h>
#include <ATen/ops/upsample_nearest2d.h>

#include "train/design.h"
#include "train/layers.h"

namespace gradwire::train {
namespace {

using data::SampleShape;

class Segmenter final : public Network {
 public:
  Segmenter(std::size_t channels, const SampleShape& shape, Layout& layout)
      : down1_(layout, "down1", {.inputs = shape.channels, .outputs = channels, .has_bias = true}),
        down2_(layout, "down2", {.inputs = channels, .outputs = 2 * channels, .has_bias = true}),
        middle_(layout, "middle",
                {.inputs = 2 * channels, .outputs = 4 * channels, .has_bias = true}),
        up2_(layout, "up2", {.inputs = 6 * channels, .outputs = 2 * channels, .has_bias = true}),
        up1_(layout, "up1", {.inputs = 3 * channels, .outputs = channels, .has_bias = true}),
        classes_(layout, "classes",
                 {.inputs = channels, .outputs = shape.classes, .kernel = 1, .has_bias = true}) {}

  at::Tensor forward(const at::Tensor& input, const Pass&) const override {
    const at::Tensor fine = down1_(channels_last(input)).relu();
    const at::Tensor coarse = down2_(at::max_pool2d(fine, 2)).relu();
    at::Tensor x = middle_(at::max_pool2d(coarse, 2)).relu();
    x = up2_(at::cat({repeated(x), coarse}, 1)).relu();
    x = up1_(at::cat({repeated(x), fine}, 1)).relu();
    const at::Tensor scores = classes_(x).permute({0, 2, 3, 1});
    return scores.reshape({-1, scores.size(3)});
  }

 private:
  static at::Tensor repeated(const at::Tensor& x) {
    return at::upsample_nearest2d(x, {2 * x.size(2), 2 * x.size(3)});
  }

  Convolution down1_;
  Convolution down2_;
  Convolution middle_;
  Convolution up2_;
  Convolution up1_;
  Convolution classes_;
};

Design read_segmenter(StageReader& reader) {
  const auto channels = static_cast<std::size_t>(reader.integer("channels", 16, 1, 1024));
  return {"segmenter(channels=" + std::to_string(channels) + ")",
          [channels](const SampleShape& shape, Layout& layout) {
            return std::make_unique<Segmenter>(channels, shape, layout);
          }};
}

}  // namespace

ModelFamily segmenter_model() {
  return {.name = "segmenter",
          .read = read_segmenter,
          .usual_data = "generated-segments",
          .takes = "images with a class for each pixel, whose sides are multiples of 4",
          .fits = [](const SampleShape& shape) {
            return shape.kind == SampleShape::Kind::segments && shape.height % 4 == 0 &&
                   shape.width % 4 == 0;
          }};
}

}  // namespace gradwire::train
