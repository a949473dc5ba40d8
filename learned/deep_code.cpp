// The published stack, on libtorch. Nothing is padded on the way, so that a code means the same
// wherever its block is: the stack sees 31 values around a block of 16 and writes 29.
#include <torch/torch.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "gradwire/core/check.h"
#include "learned/adam.h"
#include "learned/code_network.h"
#include "learned/draws.h"

namespace gradwire::learned {
namespace {

constexpr std::int64_t kSeenBefore = 7;
constexpr std::int64_t kSeenBehind = 8;
constexpr std::int64_t kWrittenBefore = 6;
constexpr std::size_t kEncoderLayers = 5;
constexpr std::size_t kDecoderLayers = 5;
constexpr double kSlope = 0.01;  // of a leaky ReLU below zero

// Of a vector, what is learned from in one step at the most.
constexpr std::size_t kWindowBlocks = 32;

std::int64_t whole(std::size_t number) { return static_cast<std::int64_t>(number); }

std::span<float> span_of(const torch::Tensor& tensor) {
  return {tensor.data_ptr<float>(), static_cast<std::size_t>(tensor.numel())};
}

// Rows of whole blocks from the front, with zeros behind a last one that is short.
torch::Tensor as_row(std::span<const float> values, std::size_t blocks) {
  torch::Tensor row = torch::zeros({1, whole(blocks * kBlock)});
  std::ranges::copy(values.first(std::min(values.size(), blocks * kBlock)), span_of(row).begin());
  return row;
}

class DeepCode final : public CodeNetwork {
 public:
  explicit DeepCode(const NetworkOptions& options) : options_(options), adam_(0, 0) {
    const auto channels = whole(options.channels);
    add_layer({64, 1, 3}, 64, 3);
    add_layer({128, 64, 3}, 128, 64 * 3);
    add_layer({256, 128, 3}, 256, 128 * 3);
    add_layer({64, 256, 3}, 64, 256 * 3);
    add_layer({channels, 64, 1}, channels, 64);
    for (std::size_t i = 0; i < options.decoders; ++i) {
      add_layer({channels, 32, 3}, 32, 1.5 * static_cast<double>(channels));
      add_layer({32, 64, 3}, 64, 32 * 1.5);
      add_layer({64, 128, 3}, 128, 64 * 1.5);
      add_layer({128, 32, 3}, 32, 128 * 1.5);
      add_layer({1, 32, 3}, 1, 32 * 3);
    }
    for (const torch::Tensor& weight : weights_) count_ += span_of(weight).size();
    adam_ = Adam(count_, options.learning_rate);
  }

  std::vector<float> encode(std::span<const float> values) const override {
    if (values.empty()) return {};
    const torch::NoGradGuard guard;
    const torch::Tensor code =
        encode_rows(as_row(values, blocks_of(values.size()))).transpose(1, 2).contiguous();
    const std::span<const float> numbers = span_of(code);
    return {numbers.begin(), numbers.end()};
  }

  void decode(std::span<const float> code, std::size_t decoder,
              std::span<float> values) const override {
    if (values.empty()) return;
    const torch::NoGradGuard guard;
    const auto channels = whole(options_.channels);
    torch::Tensor numbers = torch::empty({1, whole(code.size()) / channels, channels});
    std::ranges::copy(code, span_of(numbers).begin());
    const torch::Tensor row =
        decode_rows(numbers.transpose(1, 2).contiguous(), decoder).contiguous();
    std::ranges::copy(span_of(row).first(values.size()), values.begin());
  }

  void learn(const Task& task) override {
    const std::size_t all = blocks_of(task.vectors.front().size());
    if (all == 0) return;
    const std::size_t some = std::min(all, kWindowBlocks);
    const std::size_t first = draw_window(options_.seed, task.step, some, all);
    std::vector<torch::Tensor> stretches;
    for (const std::vector<float>& vector : task.vectors) {
      stretches.push_back(as_row(std::span(vector).subspan(first * kBlock), some));
    }
    const torch::Tensor rows = torch::cat(stretches);
    const torch::Tensor loss = task.author ? loss_of_author(task, rows) : loss_of_all(task, rows);
    const torch::Tensor unit = rows.square().sum() + 1e-12;
    const auto slopes = torch::autograd::grad({loss / unit}, weights_, {}, {}, false, true);
    move(slopes);
  }

  std::size_t numbers() const override { return count_ + adam_.numbers(); }
  std::vector<float> save() const override {
    std::vector<float> saved = flat(weights_);
    adam_.save(saved);
    return saved;
  }
  void load(std::span<const float> saved) override {
    const torch::NoGradGuard guard;
    for (const torch::Tensor& weight : weights_) {
      const std::span<float> values = span_of(weight);
      std::ranges::copy(saved.first(values.size()), values.begin());
      saved = saved.subspan(values.size());
    }
    adam_.load(saved);
    GW_CHECK(saved.empty());
  }

 private:
  void add_layer(at::IntArrayRef shape, std::int64_t outputs, double inputs) {
    torch::Tensor weights = torch::empty(shape);
    const std::string name = "layer of a code " + std::to_string(weights_.size());
    fill_random(options_.seed, 0, name, span_of(weights));
    weights.mul_(std::sqrt(6 / inputs));
    weights_.push_back(weights.set_requires_grad(true));
    weights_.push_back(torch::zeros({outputs}).set_requires_grad(true));
  }

  // Rows of whole blocks to (row, channel, block) and back.
  torch::Tensor encode_rows(const torch::Tensor& rows) const {
    torch::Tensor x = torch::constant_pad_nd(rows.unsqueeze(1), {kSeenBefore, kSeenBehind});
    for (std::size_t i = 0; i + 1 < kEncoderLayers; ++i) {
      x = torch::leaky_relu(torch::conv1d(x, weights_[2 * i], weights_[2 * i + 1], 2), kSlope);
    }
    const std::size_t last = kEncoderLayers - 1;
    return torch::conv1d(x, weights_[2 * last], weights_[2 * last + 1]);
  }
  torch::Tensor decode_rows(const torch::Tensor& code, std::size_t decoder) const {
    const std::size_t first = kEncoderLayers + decoder * kDecoderLayers;
    const std::size_t last = first + kDecoderLayers - 1;
    torch::Tensor x = code;
    for (std::size_t i = first; i < last; ++i) {
      x = torch::leaky_relu(torch::conv_transpose1d(x, weights_[2 * i], weights_[2 * i + 1], 2),
                            kSlope);
    }
    x = torch::conv1d(x, weights_[2 * last], weights_[2 * last + 1]);
    return x.squeeze(1).narrow(1, kWrittenBefore, code.size(2) * whole(kBlock));
  }

  // A code as it will be rounded, with noise in the place of rounding.
  torch::Tensor noisy(const torch::Tensor& code, const Task& task) const {
    torch::Tensor noise = torch::empty_like(code);
    fill_random(options_.seed, task.step, "noise of a code", span_of(noise));
    for (std::size_t c = 0; c < task.quantiser_steps.size(); ++c) {
      noise.select(1, whole(c)).mul_(0.5F * task.quantiser_steps[c]);
    }
    return code + noise;
  }

  torch::Tensor loss_of_all(const Task& task, const torch::Tensor& rows) const {
    const torch::Tensor code = noisy(encode_rows(rows), task);
    const torch::Tensor decoded = decode_rows(torch::cat({code, code.mean(0, true)}), 0);
    return (decoded - torch::cat({rows, rows.mean(0, true)})).square().sum();
  }

  torch::Tensor loss_of_author(const Task& task, const torch::Tensor& rows) const {
    const std::size_t author = *task.author;
    const torch::Tensor codes = encode_rows(rows);
    const torch::Tensor code = noisy(codes.narrow(0, whole(author), 1).contiguous(), task);
    const auto count = static_cast<double>(rows.size(0));
    torch::Tensor loss =
        double{kAlikeWeight} * count * (codes - codes.mean(0, true)).square().sum();
    for (std::size_t i = 0; i < task.vectors.size(); ++i) {
      const std::size_t which = i == author ? options_.decoders - 1 : i;
      loss = loss + (decode_rows(code, which) - rows.narrow(0, whole(i), 1)).square().sum();
    }
    return loss;
  }

  // Weights that the loss did not need have no slope.
  std::vector<float> flat(const std::vector<torch::Tensor>& tensors) const {
    std::vector<float> all;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      const torch::Tensor tensor =
          tensors[i].defined() ? tensors[i].contiguous() : torch::zeros_like(weights_[i]);
      const std::span<const float> values = span_of(tensor);
      all.insert(all.end(), values.begin(), values.end());
    }
    return all;
  }

  void move(const std::vector<torch::Tensor>& slopes) {
    const torch::NoGradGuard guard;
    std::vector<float> weights = flat(weights_);
    adam_.move(weights, flat(slopes));
    std::size_t at = 0;
    for (const torch::Tensor& weight : weights_) {
      const std::span<float> values = span_of(weight);
      std::copy_n(weights.begin() + static_cast<std::ptrdiff_t>(at), values.size(), values.begin());
      at += values.size();
    }
  }

  const NetworkOptions options_;
  std::vector<torch::Tensor> weights_;  // a matrix and a constant for each layer
  std::size_t count_ = 0;               // of all their numbers
  Adam adam_;
};

}  // namespace

std::unique_ptr<CodeNetwork> make_deep_code(const NetworkOptions& options) {
  return std::make_unique<DeepCode>(options);
}

}  // namespace gradwire::learned
