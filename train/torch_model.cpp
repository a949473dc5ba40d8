#include "train/torch_model.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/argmax.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/eq.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/autograd.h>

#include <optional>
#include <ranges>
#include <utility>

#include "gradwire/core/check.h"
#include "train/network.h"
#include "train/ready_report.h"

namespace gradwire::train {
namespace {

using data::Batch;
using data::SampleShape;

std::span<float> floats(const at::Tensor& tensor) {
  return {tensor.data_ptr<float>(), static_cast<std::size_t>(tensor.numel())};
}

at::Tensor zeros(std::size_t elements) {
  return at::zeros({static_cast<std::int64_t>(elements)}, at::kFloat);
}

// The tensor's elements in a longer one, in its shape.
at::Tensor slice(const at::Tensor& all, std::size_t first, const at::Tensor& tensor) {
  return all.narrow(0, static_cast<std::int64_t>(first), tensor.numel()).view(tensor.sizes());
}

std::size_t elements_of(const std::vector<Layout::Entry>& entries) {
  std::size_t elements = 0;
  for (const auto& entry : entries) elements += static_cast<std::size_t>(entry.tensor.numel());
  return elements;
}

// The batch's memory as a tensor, which is only read.
template <class T>
at::Tensor view_of(const std::vector<T>& values, at::IntArrayRef shape) {
  GW_CHECK(static_cast<std::int64_t>(values.size()) >= c10::multiply_integers(shape));
  return at::from_blob(const_cast<T*>(values.data()), shape, c10::CppTypeToScalarType<T>::value);
}

std::uint64_t number_of(const at::Tensor& truths) {
  return static_cast<std::uint64_t>(truths.sum().item<std::int64_t>());
}

at::Tensor input_of(const Batch& batch, const SampleShape& shape) {
  const auto samples = static_cast<std::int64_t>(batch.samples);
  const auto channels = static_cast<std::int64_t>(shape.channels);
  const auto height = static_cast<std::int64_t>(shape.height);
  const auto width = static_cast<std::int64_t>(shape.width);
  switch (shape.kind) {
    case SampleShape::Kind::image:
    case SampleShape::Kind::segments:
      return view_of(batch.values, {samples, channels, height, width});
    case SampleShape::Kind::features:
      return view_of(batch.values, {samples, width});
    case SampleShape::Kind::text:
      break;
  }
  return view_of(batch.tokens, {samples, width});
}

class TorchModel final : public Model {
 public:
  TorchModel(const Design& design, const SampleShape& shape, std::uint64_t seed)
      : spec_(design.spec), shape_(shape) {
    Layout layout;
    network_ = design.build(shape, layout);
    place_parameters(layout, seed);
    place_statistics(layout);
  }

  const std::string& spec() const override { return spec_; }
  std::span<const Parameter> parameters() const override { return parameters_; }
  std::span<float> values() override { return floats(values_); }
  std::span<float> gradients() override { return floats(gradients_); }
  std::span<float> statistics() override { return floats(statistics_); }

  Score learn(const Batch& batch, const Draw& draw, float factor, const Ready& ready) override {
    if (batch.samples == 0) {
      report_->run([] {}, ready);
      return {};
    }
    const Outcome outcome = forward(batch, {.is_training = true, .draw = draw});
    const at::Tensor loss = factor == 1 ? outcome.mean_loss : outcome.mean_loss * factor;
    report_->run([&] { torch::autograd::backward({loss}); }, ready);
    return outcome.score;
  }

  Score evaluate(const Batch& batch) override {
    if (batch.samples == 0) return {};
    const at::NoGradGuard without_gradients;
    return forward(batch, {.is_training = false}).score;
  }

 private:
  struct Outcome {
    at::Tensor mean_loss;
    Score score;
  };

  Outcome forward(const Batch& batch, const Pass& pass) const;
  void place_parameters(const Layout& layout, std::uint64_t seed);
  void place_statistics(const Layout& layout);

  std::string spec_;
  SampleShape shape_;
  std::unique_ptr<Network> network_;
  std::vector<Parameter> parameters_;
  at::Tensor values_;  // one stretch, of which the parameters' tensors are slices
  at::Tensor gradients_;
  at::Tensor statistics_;
  std::optional<ReadyReport> report_;
};

TorchModel::Outcome TorchModel::forward(const Batch& batch, const Pass& pass) const {
  const std::size_t count = batch.samples * shape_.targets();
  const at::Tensor targets = view_of(batch.targets, {static_cast<std::int64_t>(count)});
  const at::Tensor scores = network_->forward(input_of(batch, shape_), pass);
  Outcome outcome;
  outcome.mean_loss = at::cross_entropy_loss(scores, targets);
  const at::Tensor said = at::argmax(scores.detach(), 1);
  outcome.score = {.loss = outcome.mean_loss.item<double>() * static_cast<double>(count),
                   .correct = number_of(at::eq(said, targets)),
                   .count = count};
  if (shape_.kind == SampleShape::Kind::segments && !pass.is_training) {
    for (std::size_t i = 0; i < shape_.classes; ++i) {
      const auto label = static_cast<std::int64_t>(i);
      const at::Tensor is_said = said.eq(label);
      const at::Tensor is_target = targets.eq(label);
      outcome.score.both.push_back(number_of(is_said.logical_and(is_target)));
      outcome.score.either.push_back(number_of(is_said.logical_or(is_target)));
    }
  }
  return outcome;
}

// The last layer's parameters come first, since a backward pass completes them first.
void TorchModel::place_parameters(const Layout& layout, std::uint64_t seed) {
  values_ = zeros(elements_of(layout.parameters()));
  gradients_ = zeros(elements_of(layout.parameters()));
  std::vector<at::Tensor> tensors;
  std::size_t first = 0;
  for (const auto& [name, tensor, initial] : std::views::reverse(layout.parameters())) {
    const auto elements = static_cast<std::size_t>(tensor.numel());
    draw_weights(name, initial, seed, values().subspan(first, elements));
    parameters_.push_back({.name = name,
                           .shape = {tensor.sizes().begin(), tensor.sizes().end()},
                           .first = first,
                           .elements = elements});
    tensor.set_data(slice(values_, first, tensor));
    tensor.requires_grad_(true);
    // A gradient that is there already is added to in place, and so stays where it is.
    tensor.mutable_grad() = slice(gradients_, first, tensor);
    tensors.push_back(tensor);
    first += elements;
  }
  report_.emplace(std::move(tensors));
}

void TorchModel::place_statistics(const Layout& layout) {
  statistics_ = zeros(elements_of(layout.all_statistics()));
  std::size_t first = 0;
  for (const auto& [name, tensor, initial] : layout.all_statistics()) {
    tensor.set_data(slice(statistics_, first, tensor));
    tensor.fill_(initial.scale);
    first += static_cast<std::size_t>(tensor.numel());
  }
}

}  // namespace

std::unique_ptr<Model> make_torch_model(const Design& design, const SampleShape& shape,
                                        std::uint64_t seed) {
  return std::make_unique<TorchModel>(design, shape, seed);
}

}  // namespace gradwire::train
