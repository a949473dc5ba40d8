#include "bench/tensor_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "gradwire/core/check.h"
#include "gradwire/core/random.h"

namespace gradwire::bench {
namespace {

constexpr std::uint64_t kWeightBits = 4 + 16;

// From 2^4 to 2^20, each power of two as likely as another. Whole numbers, so that no machine's
// logarithm can cut the elements differently.
std::uint64_t weight_of(std::uint32_t random) {
  const std::uint64_t mantissa = 16 + (random >> 28);
  const std::uint32_t shift = (random >> 24) & 15;
  return mantissa << shift;
}

}  // namespace

std::vector<TensorSize> model_tensors(std::size_t elements, std::size_t tensors) {
  GW_CHECK(0 < tensors && tensors <= elements);
  GW_CHECK(elements < std::size_t{1} << (64 - kWeightBits));
  const RandomStream random = Rng{.purpose = Purpose::data}.stream(0, 0);
  std::vector<std::uint64_t> weights;
  std::uint64_t weights_sum = 0;
  for (std::size_t i = 0; i < tensors; ++i) {
    weights.push_back(weight_of(random.at(static_cast<std::uint32_t>(i))));
    weights_sum += weights.back();
  }
  std::vector<TensorSize> list;
  std::size_t left = elements;
  for (std::size_t i = 0; i < tensors; ++i) {
    list.push_back({.name = fmt::format("tensor {}", i),
                    .elements = 1 + (elements - tensors) * weights[i] / weights_sum});
    left -= list.back().elements;
  }
  std::ranges::max_element(list, {}, &TensorSize::elements)->elements += left;
  return list;
}

std::vector<MethodTensor> as_matrices(const std::vector<TensorSize>& tensors) {
  constexpr std::size_t kRowsMin = 8;
  std::vector<MethodTensor> matrices;
  for (const auto& [name, elements] : tensors) {
    auto rows = static_cast<std::size_t>(std::sqrt(static_cast<double>(elements)));
    while (rows >= kRowsMin && elements % rows != 0) --rows;
    matrices.push_back({name, {elements}});
    if (rows >= kRowsMin) matrices.back().shape = {rows, elements / rows};
  }
  return matrices;
}

}  // namespace gradwire::bench
