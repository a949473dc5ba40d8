#include "train/design.h"

#include <algorithm>

#include "gradwire/core/error.h"

namespace gradwire::train {
namespace {

using Kind = data::SampleShape::Kind;

std::string describe(const data::SampleShape& shape) {
  switch (shape.kind) {
    case Kind::image:
      return "images of " + std::to_string(shape.height) + " x " + std::to_string(shape.width) +
             " pixels";
    case Kind::features:
      return std::to_string(shape.width) + " features each";
    case Kind::text:
      break;
  }
  return "text of " + std::to_string(shape.width) + " tokens";
}

std::string models_for(const data::SampleShape& shape) {
  const std::size_t pixels = std::min(shape.height, shape.width);
  switch (shape.kind) {
    case Kind::image:
      if (pixels < kCnnPixelsLeast) return "mlp";
      return pixels < kResNetPixelsLeast ? "mlp or cnn" : "mlp, cnn, resnet20 or resnet18";
    case Kind::features:
      return "mlp";
    case Kind::text:
      break;
  }
  return "transformer";
}

}  // namespace

void refuse_samples(std::string_view model, std::string_view takes,
                    const data::SampleShape& shape) {
  throw Error("the model " + std::string(model) + " takes " + std::string(takes) +
              ", and these samples are " + describe(shape) + ": take " + models_for(shape));
}

void require_images(std::string_view model, const data::SampleShape& shape, std::size_t least) {
  if (shape.kind != Kind::image || shape.height < least || shape.width < least) {
    const std::string size = std::to_string(least);
    refuse_samples(model, "images of at least " + size + " x " + size + " pixels", shape);
  }
}

}  // namespace gradwire::train
