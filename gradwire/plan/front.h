// The Pareto front of total weight and total price, layer by layer: of all ways to choose from the
// layers so far, those that no other one beats. Ways that cannot become an improvement are left
// out, by the bounds of relaxation.h. Sums are made in the order of the layers, and addition is
// monotone even where it rounds, so a way that is beaten stays beaten to the last bit. One call,
// one thread.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "gradwire/plan/item.h"
#include "gradwire/plan/relaxation.h"

namespace gradwire::plan {

// Takes a choice, an option for each layer, that may be an improvement. Returns the highest price
// that would be one from now on.
using Offer = std::function<double(const std::vector<std::size_t>& options)>;

struct FrontTask {
  std::span<const ItemSpan> layers;  // undominated items, each layer at least one
  double limit = 0;
  const Relaxation& relaxation;  // of these layers
  double improvement = 0;        // the highest price that is one
  std::size_t states_max = 0;    // a larger front is thinned out before it is gone on from
};

// Offers the cheapest choice within the limit if it is an improvement, and others on the way. False
// if it may have missed the cheapest, because a front was thinned out or there was no work left.
// What it does is taken off `work`: roughly, the number of states that it looks at.
bool search_front(const FrontTask& task, const Offer& offer, std::size_t& work);

}  // namespace gradwire::plan
