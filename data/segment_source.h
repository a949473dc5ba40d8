// A source of images with a class for each pixel. Pixels are normalised to mean 0 and deviation 1
// over the training part.
#pragma once

#include <memory>
#include <string>

#include "data/generated.h"
#include "data/source.h"

namespace gradwire::data {

struct SegmentSourceOptions {
  std::string name;
  std::size_t classes = 0;  // above every label
};

// Both parts have images of one channel, and of one shape.
std::unique_ptr<Source> make_segment_source(SegmentImages train, SegmentImages test,
                                            SegmentSourceOptions options);

}  // namespace gradwire::data
