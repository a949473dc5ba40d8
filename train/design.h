// Design: a network as its spec asks for it, before it is known what it will learn from.
// ModelFamily: a name that such specs begin with, as its own file describes it. A new model is a
// file that defines `ModelFamily NAME_model()`, and a line in models.inc. Free of libtorch, so that
// the registry is. Value types.
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
  // The samples are of a shape that the family takes.
  std::function<std::unique_ptr<Network>(const data::SampleShape&, Layout&)> build;
};

struct ModelFamily {
  std::string_view name;
  Design (*read)(StageReader&);  // throws SpecError
  std::string_view usual_data;   // learnt from where no data is named

  // The samples that it takes, in words and as a condition.
  std::string_view takes;
  bool (*fits)(const data::SampleShape&);
};

#define GRADWIRE_MODEL(name, example) ModelFamily name##_model();
#include "train/models.inc"
#undef GRADWIRE_MODEL

// Whether the samples are images of at least least x least pixels.
bool are_images(const data::SampleShape& shape, std::size_t least);

}  // namespace gradwire::train
