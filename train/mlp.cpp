// mlp(hidden=512, layers=1, dropout=0): fully connected layers with ReLU between them.
#include <optional>
#include <vector>

#include "train/design.h"
#include "train/dropout.h"
#include "train/layers.h"

namespace gradwire::train {
namespace {

using data::SampleShape;

struct MlpOptions {
  std::size_t hidden = 512;
  std::size_t layers = 1;  // hidden ones
  double dropout = 0;

  std::string spec() const {
    return "mlp(hidden=" + std::to_string(hidden) +
           (layers == 1 ? "" : ", layers=" + std::to_string(layers)) +
           (dropout == 0 ? "" : ", dropout=" + format_number(dropout)) + ")";
  }
};

class Mlp final : public Network {
 public:
  Mlp(const MlpOptions& options, const SampleShape& shape, Layout& layout) {
    std::size_t inputs = shape.elements();
    for (std::size_t i = 1; i <= options.layers; ++i) {
      const std::string name = "fc" + std::to_string(i);
      hidden_.push_back(
          {Linear(layout, name, inputs, options.hidden, InitialWeights::before_relu(inputs)),
           Dropout(name, options.dropout)});
      inputs = options.hidden;
    }
    output_.emplace(layout, "fc" + std::to_string(options.layers + 1), inputs, shape.classes,
                    InitialWeights::before_loss(inputs));
  }

  at::Tensor forward(const at::Tensor& input, const Pass& pass) const override {
    at::Tensor x = input.flatten(1);
    for (const auto& [linear, dropout] : hidden_) x = dropout(linear(x).relu_(), pass);
    return (*output_)(x);
  }

 private:
  struct Hidden {
    Linear linear;
    Dropout dropout;
  };

  std::vector<Hidden> hidden_;
  std::optional<Linear> output_;
};

Design read_mlp(StageReader& reader) {
  const MlpOptions options{
      .hidden = static_cast<std::size_t>(reader.integer("hidden", 512, 1, 65536)),
      .layers = static_cast<std::size_t>(reader.integer("layers", 1, 1, 64)),
      .dropout = reader.keyed_number("dropout", 0, 0, kDropoutMax)};
  return {options.spec(), [options](const SampleShape& shape, Layout& layout) {
            return std::make_unique<Mlp>(options, shape, layout);
          }};
}

}  // namespace

ModelFamily mlp_model() {
  return {.name = "mlp",
          .read = read_mlp,
          .usual_data = "fashion-mnist",
          .takes = "images or features",
          .fits = [](const SampleShape& shape) {
            return shape.kind == SampleShape::Kind::image ||
                   shape.kind == SampleShape::Kind::features;
          }};
}

}  // namespace gradwire::train
