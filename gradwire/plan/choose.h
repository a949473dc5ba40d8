// Chooses one option for each layer, so that the total price is least while the total weight stays
// within a limit: a multiple-choice knapsack. L-GreCo's plan is one, with errors for weights and
// bytes for prices; so is the least error that fits a time budget, with seconds for weights. Pure
// functions: the same numbers give the same choice on every machine.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace gradwire::plan {

struct Option {
  double weight = 0;  // what is limited in total: an error, or seconds
  double price = 0;   // what is to be least in total: bytes, or an error
};

struct Choice {
  std::vector<std::size_t> options;  // an index for each layer
  double weight = 0;                 // totals, added up in the order of the layers
  double price = 0;
  bool is_exact = false;  // proven: no other choice within the limit has a lower price
};

// The limit is that of the total as Choice has it. The choice is exact where that is affordable;
// otherwise its price is at most the optimum for a limit that is lower by the rounding into buckets
// (see buckets.h), and in practice close to the optimum.
//
// `reference`, an index for each layer, is a choice that is known to fit: the result's price is
// never above its price. Without one, the lightest option of each layer takes its place; if not
// even that fits, it is returned, and its weight above the limit tells so.
//
// Throws Error if a weight or a price is negative or not finite, if a layer has no options, if the
// limit is not a number, and if the reference is not a choice or does not fit.
Choice choose(std::span<const std::vector<Option>> layers, double limit,
              std::span<const std::size_t> reference = {});

}  // namespace gradwire::plan
