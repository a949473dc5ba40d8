// resnet20 and resnet18(width=64): residual networks for small images (He et al. 2016). The first
// has three stages of three blocks, whose shortcuts have no parameters; the second has four stages
// of two blocks, and projects where the shape changes.
#include <ATen/ops/constant_pad_nd.h>

#include <optional>
#include <vector>

#include "train/design.h"
#include "train/layers.h"

namespace gradwire::train {
namespace {

using data::SampleShape;

enum class Shortcut { padded, projected };  // where the shape changes: options A and B

// Parameters are called as they are in the networks that others have trained and published.
struct Names {
  std::string stem;
  std::string stem_norm;
  std::string conv;  // "conv" gives "conv1" and "conv2" in each block
  std::string norm;
  std::string output;
  std::string (*block)(std::size_t stage, std::size_t number);  // both count from 0
};

struct Plan {
  std::size_t width = 0;   // channels of the first stage; each stage has twice those before it
  std::size_t stages = 0;  // each has half the pixels, in both directions, of those before it
  std::size_t blocks = 0;  // of each stage
  Shortcut shortcut = Shortcut::padded;
  Names names;
};

struct BlockShape {
  std::size_t inputs = 0;
  std::size_t outputs = 0;
  std::size_t stride = 1;

  bool is_kept() const { return inputs == outputs && stride == 1; }
};

// Every second pixel, and channels of zeros on both sides.
at::Tensor pad_shortcut(const at::Tensor& x, const BlockShape& shape) {
  const auto stride = static_cast<std::int64_t>(shape.stride);
  const auto more = static_cast<std::int64_t>(shape.outputs - shape.inputs);
  const at::Tensor fewer = x.slice(2, 0, c10::nullopt, stride).slice(3, 0, c10::nullopt, stride);
  return at::constant_pad_nd(fewer, {0, 0, 0, 0, more / 2, more - more / 2});
}

class Block {
 public:
  Block(Layout& layout, const std::string& name, const Plan& plan, const BlockShape& shape)
      : shape_(shape),
        conv1_(layout, name + plan.names.conv + "1",
               {.inputs = shape.inputs, .outputs = shape.outputs, .stride = shape.stride}),
        norm1_(layout, name + plan.names.norm + "1", shape.outputs),
        conv2_(layout, name + plan.names.conv + "2",
               {.inputs = shape.outputs, .outputs = shape.outputs}),
        norm2_(layout, name + plan.names.norm + "2", shape.outputs) {
    if (plan.shortcut == Shortcut::padded || shape.is_kept()) return;
    projection_.emplace(
        layout, name + "downsample.0",
        Convolution::Options{
            .inputs = shape.inputs, .outputs = shape.outputs, .kernel = 1, .stride = shape.stride});
    projection_norm_.emplace(layout, name + "downsample.1", shape.outputs);
  }

  at::Tensor operator()(const at::Tensor& x, const Pass& pass) const {
    at::Tensor y = norm1_(conv1_(x), pass).relu_();
    y = norm2_(conv2_(y), pass);
    return y.add_(shortcut(x, pass)).relu_();
  }

 private:
  at::Tensor shortcut(const at::Tensor& x, const Pass& pass) const {
    if (projection_) return (*projection_norm_)((*projection_)(x), pass);
    return shape_.is_kept() ? x : pad_shortcut(x, shape_);
  }

  BlockShape shape_;
  Convolution conv1_;
  BatchNorm norm1_;
  Convolution conv2_;
  BatchNorm norm2_;
  std::optional<Convolution> projection_;
  std::optional<BatchNorm> projection_norm_;
};

class ResNet final : public Network {
 public:
  ResNet(const Plan& plan, const SampleShape& shape, Layout& layout)
      : stem_(layout, plan.names.stem, {.inputs = shape.channels, .outputs = plan.width}),
        stem_norm_(layout, plan.names.stem_norm, plan.width),
        blocks_(make_blocks(plan, layout)),
        output_(layout, plan.names.output, features(plan), shape.classes,
                InitialWeights::before_loss(features(plan))) {}

  at::Tensor forward(const at::Tensor& input, const Pass& pass) const override {
    at::Tensor x = stem_norm_(stem_(channels_last(input)), pass).relu_();
    for (const Block& block : blocks_) x = block(x, pass);
    return output_(x.mean({2, 3}));
  }

 private:
  static std::size_t features(const Plan& plan) { return plan.width << (plan.stages - 1); }

  static std::vector<Block> make_blocks(const Plan& plan, Layout& layout) {
    std::vector<Block> blocks;
    std::size_t inputs = plan.width;
    for (std::size_t stage = 0; stage < plan.stages; ++stage) {
      for (std::size_t i = 0; i < plan.blocks; ++i) {
        const BlockShape shape{.inputs = inputs,
                               .outputs = plan.width << stage,
                               .stride = stage > 0 && i == 0 ? 2U : 1U};
        blocks.emplace_back(layout, plan.names.block(stage, i), plan, shape);
        inputs = shape.outputs;
      }
    }
    return blocks;
  }

  Convolution stem_;
  BatchNorm stem_norm_;
  std::vector<Block> blocks_;
  Linear output_;
};

// They could do with 8 pixels, but a last stage of one pixel has no variance in a batch of one.
constexpr std::string_view kTakes = "images of at least 16 x 16 pixels";
bool fits(const SampleShape& shape) { return are_images(shape, 16); }

Design design(const std::string& spec, const Plan& plan) {
  return {spec, [plan](const SampleShape& shape, Layout& layout) {
            return std::make_unique<ResNet>(plan, shape, layout);
          }};
}

Design read_resnet20(StageReader&) {
  const auto block = [](std::size_t stage, std::size_t number) {
    return "l." + std::to_string(3 * stage + number) + ".";
  };
  return design("resnet20", {.width = 16,
                             .stages = 3,
                             .blocks = 3,
                             .shortcut = Shortcut::padded,
                             .names = {"c", "b", "c", "b", "f", block}});
}

Design read_resnet18(StageReader& reader) {
  const auto width = static_cast<std::size_t>(reader.integer("width", 64, 1, 1024));
  const auto block = [](std::size_t stage, std::size_t number) {
    return "layer" + std::to_string(stage + 1) + "." + std::to_string(number) + ".";
  };
  return design("resnet18(width=" + std::to_string(width) + ")",
                {.width = width,
                 .stages = 4,
                 .blocks = 2,
                 .shortcut = Shortcut::projected,
                 .names = {"conv1", "bn1", "conv", "bn", "fc", block}});
}

}  // namespace

ModelFamily resnet20_model() {
  return {.name = "resnet20",
          .read = read_resnet20,
          .usual_data = "cifar10",
          .takes = kTakes,
          .fits = fits};
}

ModelFamily resnet18_model() {
  return {.name = "resnet18",
          .read = read_resnet18,
          .usual_data = "cifar10",
          .takes = kTakes,
          .fits = fits};
}

}  // namespace gradwire::train
