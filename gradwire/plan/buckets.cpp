#include "gradwire/plan/buckets.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "gradwire/plan/relaxation.h"

namespace gradwire::plan {

Bucketed put_into_buckets(std::span<const ItemSpan> layers, double limit,
                          std::span<const double> anchor, std::size_t buckets) {
  Bucketed bucketed;
  bucketed.layers.resize(layers.size());
  double least = 0;
  for (const ItemSpan items : layers) least += items.front().weight;
  bucketed.bucket_weight = std::max(limit - least, 0.0) / static_cast<double>(buckets);
  const double w = bucketed.bucket_weight;
  if (w == 0) {
    for (std::size_t layer = 0; layer < layers.size(); ++layer) {
      bucketed.layers[layer] = {layers[layer].front()};
      bucketed.layers[layer].front().weight = 0;
    }
    return bucketed;
  }
  const double anchor_weight = std::accumulate(anchor.begin(), anchor.end(), 0.0);
  bucketed.limit = std::floor((limit - anchor_weight) / w);
  for (std::size_t layer = 0; layer < layers.size(); ++layer) {
    const auto in_buckets = [&](double weight) { return std::ceil((weight - anchor[layer]) / w); };
    const double lightest = in_buckets(layers[layer].front().weight);
    bucketed.limit -= lightest;
    for (Item item : layers[layer]) {
      item.weight = in_buckets(item.weight) - lightest;
      bucketed.layers[layer].push_back(item);
    }
    keep_undominated(bucketed.layers[layer]);
  }
  for (Items& items : bucketed.layers) {
    std::erase_if(items, [&](const Item& item) { return item.weight > bucketed.limit; });
  }
  return bucketed;
}

}  // namespace gradwire::plan
