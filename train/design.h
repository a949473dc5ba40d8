// Design: a network as its spec asks for it, before it is known what it will learn from. One
// function a family reads the spec; a family's file holds its options, its layers and its errors.
// Free of libtorch, so that the registry is.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "data/source.h"
#include "gradwire/codec/spec.h"

namespace gradwire::train {

class Layout;
class Network;

struct Design {
  std::string spec;  // the canonical text
  // Throws Error for a shape that the network cannot take.
  std::function<std::unique_ptr<Network>(const data::SampleShape&, Layout&)> build;
};

// Of an image's height and width. The pools of a cnn leave one pixel of 4. Residual networks could
// do with 8, but a last stage of one pixel has no variance in a batch of one.
inline constexpr std::size_t kCnnPixelsLeast = 4;
inline constexpr std::size_t kResNetPixelsLeast = 16;

// Throw SpecError.
Design design_mlp(StageReader& reader);
Design design_cnn(StageReader& reader);
Design design_resnet20(StageReader& reader);
Design design_resnet18(StageReader& reader);
Design design_transformer(StageReader& reader);

// Throws Error: what the model takes, what these samples are, and which models take those.
[[noreturn]] void refuse_samples(std::string_view model, std::string_view takes,
                                 const data::SampleShape& shape);

// Refuses what is no image, and images of fewer than least x least pixels.
void require_images(std::string_view model, const data::SampleShape& shape, std::size_t least);

}  // namespace gradwire::train
