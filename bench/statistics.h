// Statistics of measurements. Pure functions.
#pragma once

#include <span>
#include <vector>

namespace gradwire::bench {

// Of at least one figure.
double median(std::vector<double> figures);

// |values - truth| / |truth|, euclidean.
double relative_error(std::span<const float> values, std::span<const float> truth);

}  // namespace gradwire::bench
