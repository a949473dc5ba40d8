// What a choice costs at least, from the relaxation in which a layer may mix its options: for every
// multiplier m >= 0, no choice within the limit is cheaper than
//   sum over layers of min over items of (price + m weight), minus m limit,
// and the best m is what weight costs where the relaxed choice uses up the limit. Pure functions.
#pragma once

#include <cstddef>
#include <vector>

#include "gradwire/plan/item.h"

namespace gradwire::plan {

// Sorts by weight, and leaves out what is not cheaper than all that is lighter. Of equals, the one
// with the lowest index stays.
void keep_undominated(Items& items);

// Items are meant by their positions in their layers.
struct Relaxation {
  std::vector<std::size_t> picks;   // the cheapest by price + multiplier weight; within the limit
  std::vector<std::size_t> over;    // one step further in one layer, and above the limit
  double multiplier = 0;            // the best one
  std::vector<double> multipliers;  // the best one and some around it, ascending
};

// Layers hold undominated items, each at least one.
Relaxation relax(std::span<const ItemSpan> layers, double limit);

// How far the sums over `layers` layers that bounds are made of, and the sums that they are
// compared with, can be off together by rounding: this share of what is added up.
double rounding_share(std::size_t layers);

}  // namespace gradwire::plan
