#include "advise/sample.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "bench/gradients.h"
#include "bench/input.h"
#include "bench/tensor_list.h"
#include "data/source.h"
#include "gradwire/core/usage_error.h"
#include "gradwire/method/step_order.h"
#include "session/train_options.h"
#include "train/model.h"

namespace gradwire::advise {
namespace {

// The sets that everybody knows need not be there to know their shape.
std::optional<data::SampleShape> known_shape(const std::string& data) {
  constexpr std::size_t kClasses = 10;
  if (data == "cifar10") {
    return data::SampleShape{.channels = 3, .height = 32, .width = 32, .classes = kClasses};
  }
  if (data == "mnist" || data == "fashion-mnist") {
    return data::SampleShape{.channels = 1, .height = 28, .width = 28, .classes = kClasses};
  }
  return std::nullopt;
}

}  // namespace

void check_network(const std::string& model) {
  if (session::is_convex_model(model)) {
    throw UsageError(model + " is not a network: give the number of its features as --params");
  }
  train::parse_model(model);
}

std::vector<MethodTensor> tensors_of_model(const std::string& model, const std::string& data) {
  const std::string source = data.empty() ? session::usual_data(model) : data;
  const auto known = known_shape(source);
  const auto network =
      train::make_model(model, known ? *known : data::open_source(source, {})->shape(), 1);
  std::vector<MethodTensor> tensors;
  for (const train::Parameter& parameter : network->parameters()) {
    tensors.push_back({.name = parameter.name, .shape = parameter.shape});
  }
  return tensors;
}

std::vector<MethodTensor> tensors_of_size(std::size_t parameters, std::size_t tensors) {
  return bench::as_matrices(bench::model_tensors(parameters, tensors));
}

std::size_t usual_tensors(std::size_t parameters) {
  constexpr std::size_t kElementsEach = std::size_t{1} << 17;
  return std::clamp<std::size_t>(parameters / kElementsEach, 1, 150);
}

std::vector<MethodTensor> cut_tensors(std::vector<MethodTensor> tensors, std::size_t elements_max) {
  const double share =
      static_cast<double>(elements_max) / static_cast<double>(total_elements(tensors));
  if (share >= 1) return tensors;
  const auto cut = [](std::size_t& length, double factor) {
    length = std::max<std::size_t>(
        static_cast<std::size_t>(std::round(factor * static_cast<double>(length))), 1);
  };
  for (MethodTensor& tensor : tensors) {
    const bool is_matrix = tensor.shape.size() > 1;
    cut(tensor.shape[0], is_matrix ? std::sqrt(share) : share);
    if (is_matrix) cut(tensor.shape[1], std::sqrt(share));
  }
  return tensors;
}

bench::PageArray<float> make_values(const ValueOptions& options, std::size_t elements) {
  bench::PageArray<float> values(elements);
  const Rng rng{.seed = 1, .purpose = Purpose::data};
  if (!options.input.empty()) {
    const bench::PageArray<float> file = bench::read_input(options.input);
    for (std::size_t i = 0; i < elements; ++i) {
      values.span()[i] = file.span()[i % file.span().size()];
    }
  } else if (options.generate == "gradients") {
    bench::fill_gradients(rng, values.span());
  } else {
    bench::fill_gaussian(rng, values.span());
  }
  return values;
}

}  // namespace gradwire::advise
