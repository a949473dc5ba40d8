#include "gradwire/plan/choose.h"

#include <array>
#include <charconv>
#include <cmath>
#include <string>

#include "gradwire/core/error.h"
#include "gradwire/plan/search.h"

namespace gradwire::plan {
namespace {

std::string text(double number) {
  std::array<char, 32> characters;
  const auto end = std::to_chars(characters.data(), characters.data() + characters.size(), number);
  return {characters.data(), end.ptr};
}

void check_number(double number, const char* what, std::size_t option, std::size_t layer) {
  if (std::isfinite(number) && number >= 0) return;
  throw Error("layer " + std::to_string(layer) + ": the " + what + " of option " +
              std::to_string(option) + " is " + text(number) + ", not a number from 0 on");
}

void check_layers(std::span<const std::vector<Option>> layers) {
  for (std::size_t layer = 0; layer < layers.size(); ++layer) {
    if (layers[layer].empty()) {
      throw Error("layer " + std::to_string(layer) + " has no options to choose from");
    }
    for (std::size_t option = 0; option < layers[layer].size(); ++option) {
      check_number(layers[layer][option].weight, "weight", option, layer);
      check_number(layers[layer][option].price, "price", option, layer);
    }
  }
}

void check_reference(std::span<const std::vector<Option>> layers, double limit,
                     std::span<const std::size_t> reference) {
  if (reference.size() != layers.size()) {
    throw Error("the reference is for " + std::to_string(reference.size()) +
                " layers, and there are " + std::to_string(layers.size()));
  }
  for (std::size_t layer = 0; layer < layers.size(); ++layer) {
    if (reference[layer] < layers[layer].size()) continue;
    throw Error("layer " + std::to_string(layer) + ": the reference takes option " +
                std::to_string(reference[layer]) + " of " + std::to_string(layers[layer].size()) +
                ", counted from 0");
  }
  const double weight = total_of(layers, {reference.begin(), reference.end()}).weight;
  if (weight <= limit) return;
  throw Error("the reference does not fit: its weight is " + text(weight) + ", the limit " +
              text(limit));
}

}  // namespace

Choice choose(std::span<const std::vector<Option>> layers, double limit,
              std::span<const std::size_t> reference) {
  check_layers(layers);
  if (std::isnan(limit)) throw Error("the limit of a choice must be a number");
  if (!reference.empty()) check_reference(layers, limit, reference);
  return search(layers, limit, reference, {});
}

}  // namespace gradwire::plan
