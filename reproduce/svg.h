// Pictures of curves as SVG, for light and dark pages: axes with ticks, a legend. Pure functions.
#pragma once

#include <string>
#include <vector>

#include "reproduce/claim.h"

namespace gradwire::reproduce {

// The SVG document. Points that cannot be drawn, as a zero on a logarithmic axis, are left out.
std::string svg_of(const Picture& picture);

// Round numbers that cover [low, high] or, on a logarithmic axis, powers of ten (with two and five
// between them where there are few).
std::vector<double> ticks(double low, double high, bool is_log);

}  // namespace gradwire::reproduce
