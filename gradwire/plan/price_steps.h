// Which total prices can come at all. Where prices are whole numbers, such as bytes, the next lower
// total may be far below; for layers of the same shape it is. Pure functions.
#pragma once

#include <cstdint>
#include <vector>

#include "gradwire/plan/item.h"

namespace gradwire::plan {

// The base, and multiples of the step above and below it.
struct PriceSteps {
  std::int64_t base = 0;
  std::int64_t step = 0;  // 0: any price may come

  // The highest total below `price`.
  double below(double price) const;
};

// Of the choices that can be made of these items.
PriceSteps price_steps(const std::vector<Items>& layers);

}  // namespace gradwire::plan
