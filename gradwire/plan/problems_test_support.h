// Problems to choose from, made of numbers that are the same on every machine.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "gradwire/core/random.h"
#include "gradwire/plan/choose.h"
#include "gradwire/plan/search.h"

namespace gradwire::plan {

using Layers = std::vector<std::vector<Option>>;
using Options = std::vector<std::size_t>;

// Numbers from 0 to 1, one after the other.
class Numbers {
 public:
  explicit Numbers(std::uint64_t seed)
      : stream_(Rng{.seed = seed, .purpose = Purpose::data}.stream(0, 0)) {}

  double next() { return static_cast<double>(stream_.at(drawn_++)) * 0x1p-32; }

  // A whole number from `low` to `high`, both included.
  std::size_t next(std::size_t low, std::size_t high) {
    return low + static_cast<std::size_t>(next() * static_cast<double>(high - low + 1));
  }

 private:
  RandomStream stream_;
  std::uint32_t drawn_ = 0;
};

// Some bits an element: with one more bit, half the error.
inline std::vector<Option> bit_options(double error, double elements, std::size_t count) {
  std::vector<Option> options;
  for (std::size_t i = 0; i < count; ++i) {
    const double bits = static_cast<double>(i + 2);
    options.push_back({error * std::exp2(-bits), std::floor(elements * bits / 8) + 4});
  }
  return options;
}

// Layers of about one size and error, each with an error of its own.
inline Layers similar_layers(std::size_t layers, std::size_t options, Numbers& numbers) {
  Layers all;
  for (std::size_t i = 0; i < layers; ++i) {
    all.push_back(bit_options(1 + 0.1 * numbers.next(), 4096, options));
  }
  return all;
}

// Errors over a few orders of magnitude, sizes over more.
inline Layers network_layers(std::size_t layers, std::size_t options, Numbers& numbers) {
  Layers all;
  for (std::size_t i = 0; i < layers; ++i) {
    const double error = std::exp(6 * numbers.next() - 3);
    all.push_back(bit_options(error, std::floor(std::exp(6 + 8 * numbers.next())), options));
  }
  return all;
}

inline Layers random_layers(std::size_t layers, std::size_t options, Numbers& numbers) {
  Layers all(layers);
  for (auto& layer : all) {
    for (std::size_t i = 0; i < options; ++i) layer.push_back({numbers.next(), numbers.next()});
  }
  return all;
}

// What is saved of the price is nearly the weight, so that hardly anything can be ruled out.
inline Layers hard_layers(std::size_t layers, std::size_t options, Numbers& numbers) {
  Layers all(layers);
  for (auto& layer : all) {
    for (std::size_t i = 0; i < options; ++i) {
      const double weight = numbers.next();
      layer.push_back({weight, 2 - weight + 1e-3 * numbers.next()});
    }
  }
  return all;
}

inline Options uniform(const Layers& layers, std::size_t option) {
  return Options(layers.size(), option);
}

inline double lightest_weight(const Layers& layers) {
  double sum = 0;
  for (const auto& layer : layers) {
    sum += std::ranges::min(layer, {}, &Option::weight).weight;
  }
  return sum;
}

// The cheapest choice within the limit by trying all; an infinite price if none fits.
inline Choice best_of_all(const Layers& layers, double limit) {
  Choice best;
  best.price = std::numeric_limits<double>::infinity();
  Options options(layers.size());
  for (;;) {
    Choice choice = total_of(layers, options);
    if (choice.weight <= limit && choice.price < best.price) best = std::move(choice);
    std::size_t layer = 0;
    while (layer < layers.size() && ++options[layer] == layers[layer].size()) options[layer++] = 0;
    if (layer == layers.size()) return best;
  }
}

}  // namespace gradwire::plan
