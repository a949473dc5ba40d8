#include "train/design.h"

namespace gradwire::train {

bool are_images(const data::SampleShape& shape, std::size_t least) {
  return shape.kind == data::SampleShape::Kind::image && shape.height >= least &&
         shape.width >= least;
}

}  // namespace gradwire::train
