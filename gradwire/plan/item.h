// An option that a search still considers.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace gradwire::plan {

struct Item {
  double weight = 0;
  double price = 0;
  std::uint32_t option = 0;  // its index in the layer as it was given
};

// The items of a layer: heavier ones are cheaper, since others are no use.
using Items = std::vector<Item>;
using ItemSpan = std::span<const Item>;

}  // namespace gradwire::plan
