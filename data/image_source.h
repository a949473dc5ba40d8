// A source of images. Every channel is normalised to mean 0 and deviation 1 over the training part.
//
// Where asked to, training images are changed as is usual for CIFAR-10: padded by 4 zeros on every
// side after normalising, cropped to their size at a random place, and mirrored every other time.
#pragma once

#include <memory>
#include <string>

#include "data/images.h"
#include "data/source.h"

namespace gradwire::data {

inline constexpr std::size_t kCropPadding = 4;

struct ImageSourceOptions {
  std::string name;
  std::size_t classes = 0;  // above every label
  bool crops_and_mirrors = false;
};

// Both parts have images, and of one shape.
std::unique_ptr<Source> make_image_source(Images train, Images test, ImageSourceOptions options);

}  // namespace gradwire::data
