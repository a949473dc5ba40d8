// Weights in whole buckets, so that a front over them is never larger than the number of buckets.
// They are rounded up, but from those of a choice that fits (`anchor`) instead of from zero, which
// has two consequences: what fits in buckets fits truly, and the anchor itself always fits.
//   w = (limit - sum over layers of the least weight) / buckets
//   a = ceil((weight - the anchor's weight) / w),  q = a - min a of the layer
//   Q = floor((limit - the anchor's total weight) / w) - sum over layers of min a
// A choice that fits a limit lower by (number of layers with a choice) w fits in buckets, too.
#pragma once

#include <cstddef>
#include <vector>

#include "gradwire/plan/item.h"

namespace gradwire::plan {

struct Bucketed {
  std::vector<Items> layers;  // weights are q; a layer may have become empty
  double limit = 0;           // Q
  double bucket_weight = 0;   // w
};

// `anchor` has a weight for each layer. Where w is 0, only the lightest item of a layer is left.
Bucketed put_into_buckets(std::span<const ItemSpan> layers, double limit,
                          std::span<const double> anchor, std::size_t buckets);

}  // namespace gradwire::plan
