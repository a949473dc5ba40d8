// transformer(layers=4, heads=4, width=128, dropout=0, tied=off): a decoder that guesses the next
// token from those before it. Learned positions; layer norm before attention and before the MLP of
// four times the width (GPT-2, Radford et al. 2019).
#include <ATen/ops/bmm.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/full.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/softmax.h>

#include <cmath>
#include <limits>
#include <vector>

#include "train/design.h"
#include "train/dropout.h"
#include "train/layers.h"

namespace gradwire::train {
namespace {

using data::SampleShape;

struct TransformerOptions {
  std::size_t layers = 4;
  std::size_t heads = 4;
  std::size_t width = 128;
  double dropout = 0;
  bool is_tied = false;  // the output's weights are the embedding's

  std::string spec() const {
    return "transformer(layers=" + std::to_string(layers) + ", heads=" + std::to_string(heads) +
           ", width=" + std::to_string(width) +
           (dropout == 0 ? "" : ", dropout=" + format_number(dropout)) +
           (is_tied ? ", tied=on)" : ")");
  }

  InitialWeights initial() const { return InitialWeights::normal(kDeviation); }
  // Smaller for what is added to the stream, so that the stream's variance does not grow with the
  // number of layers: each layer adds twice.
  InitialWeights initial_residual() const {
    return InitialWeights::normal(kDeviation / std::sqrt(2 * static_cast<double>(layers)));
  }

  static constexpr double kDeviation = 0.02;
};

// Causal: a token sees itself and those before it.
class Attention {
 public:
  Attention(Layout& layout, const std::string& name, const TransformerOptions& options,
            std::size_t context)
      : heads_(static_cast<std::int64_t>(options.heads)),
        context_(static_cast<std::int64_t>(context)),
        in_(layout, name + ".qkv", options.width, 3 * options.width, options.initial()),
        out_(layout, name + ".out", options.width, options.width, options.initial_residual()) {
    constexpr double kHidden = -std::numeric_limits<double>::infinity();
    mask_ = at::full({context_, context_}, kHidden, at::kFloat).triu(1);
  }

  // Rows are the tokens of one sample after those of another.
  at::Tensor operator()(const at::Tensor& x) const {
    const std::int64_t width = x.size(1);
    const std::int64_t samples = x.size(0) / context_;
    const std::int64_t head_width = width / heads_;
    const auto parts = in_(x)
                           .view({samples, context_, 3, heads_, head_width})
                           .permute({2, 0, 3, 1, 4})
                           .reshape({3, samples * heads_, context_, head_width})
                           .unbind(0);
    const at::Tensor& queries = parts[0];
    const at::Tensor& keys = parts[1];
    const at::Tensor& values = parts[2];
    const double scale = 1 / std::sqrt(static_cast<double>(head_width));
    // softmax(Q K^T / sqrt(d) + mask) V
    const at::Tensor scores = at::bmm(queries * scale, keys.transpose(1, 2)).add_(mask_);
    const at::Tensor shares = at::softmax(scores, -1);
    return out_(at::bmm(shares, values)
                    .view({samples, heads_, context_, head_width})
                    .transpose(1, 2)
                    .reshape({samples * context_, width}));
  }

 private:
  std::int64_t heads_;
  std::int64_t context_;
  Linear in_;
  Linear out_;
  at::Tensor mask_;  // what is added: nothing, or minus infinity for tokens yet to come
};

class TransformerLayer {
 public:
  TransformerLayer(Layout& layout, const std::string& name, const TransformerOptions& options,
                   std::size_t context)
      : norm1_(layout, name + ".norm1", options.width),
        attention_(layout, name + ".attention", options, context),
        attention_dropout_(name + ".attention", options.dropout),
        norm2_(layout, name + ".norm2", options.width),
        up_(layout, name + ".mlp.up", options.width, 4 * options.width, options.initial()),
        down_(layout, name + ".mlp.down", 4 * options.width, options.width,
              options.initial_residual()),
        mlp_dropout_(name + ".mlp", options.dropout) {}

  at::Tensor operator()(const at::Tensor& x, const Pass& pass) const {
    const at::Tensor y = x + attention_dropout_(attention_(norm1_(x)), pass);
    return y + mlp_dropout_(down_(at::gelu(up_(norm2_(y)))), pass);
  }

 private:
  LayerNorm norm1_;
  Attention attention_;
  Dropout attention_dropout_;
  LayerNorm norm2_;
  Linear up_;
  Linear down_;
  Dropout mlp_dropout_;
};

class Transformer final : public Network {
 public:
  Transformer(const TransformerOptions& options, const SampleShape& shape, Layout& layout)
      : tokens_(layout.parameter("tokens.weight", matrix(shape.classes, options.width),
                                 options.initial())),
        positions_(layout.parameter("positions.weight", matrix(shape.width, options.width),
                                    options.initial())),
        dropout_("tokens", options.dropout),
        layers_(make_layers(options, shape, layout)),
        norm_(layout, "norm", options.width),
        output_(options.is_tied
                    ? tokens_
                    : layout.parameter("output.weight", matrix(shape.classes, options.width),
                                       options.initial())) {}

  at::Tensor forward(const at::Tensor& input, const Pass& pass) const override {
    at::Tensor x = dropout_(at::embedding(tokens_, input) + positions_, pass).flatten(0, 1);
    for (const TransformerLayer& layer : layers_) x = layer(x, pass);
    return at::linear(norm_(x), output_);
  }

 private:
  static std::vector<std::int64_t> matrix(std::size_t rows, std::size_t columns) {
    return {static_cast<std::int64_t>(rows), static_cast<std::int64_t>(columns)};
  }

  static std::vector<TransformerLayer> make_layers(const TransformerOptions& options,
                                                   const SampleShape& shape, Layout& layout) {
    std::vector<TransformerLayer> layers;
    for (std::size_t i = 0; i < options.layers; ++i) {
      layers.emplace_back(layout, "layers." + std::to_string(i), options, shape.width);
    }
    return layers;
  }

  at::Tensor tokens_;
  at::Tensor positions_;
  Dropout dropout_;
  std::vector<TransformerLayer> layers_;
  LayerNorm norm_;
  at::Tensor output_;
};

Design read_transformer(StageReader& reader) {
  const TransformerOptions options{
      .layers = static_cast<std::size_t>(reader.integer("layers", 4, 1, 96)),
      .heads = static_cast<std::size_t>(reader.integer("heads", 4, 1, 128)),
      .width = static_cast<std::size_t>(reader.integer("width", 128, 1, 16384)),
      .dropout = reader.keyed_number("dropout", 0, 0, kDropoutMax),
      .is_tied = reader.word("tied", {"off", "on"}) == "on"};
  if (options.width % options.heads != 0) {
    reader.fail_argument(
        "width", "'width' must be a multiple of the " + std::to_string(options.heads) + " heads");
  }
  return {options.spec(), [options](const SampleShape& shape, Layout& layout) {
            return std::make_unique<Transformer>(options, shape, layout);
          }};
}

}  // namespace

ModelFamily transformer_model() {
  return {.name = "transformer",
          .read = read_transformer,
          .usual_data = "generated-text",
          .takes = "text",
          .fits = [](const SampleShape& shape) { return shape.kind == SampleShape::Kind::text; }};
}

}  // namespace gradwire::train
