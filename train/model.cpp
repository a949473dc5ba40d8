#include "train/model.h"

#include <algorithm>
#include <optional>

#include "gradwire/core/error.h"
#include "gradwire/core/usage_error.h"
#include "train/design.h"
#include "train/networks.h"
#include "train/read_spec.h"

namespace gradwire::train {
namespace {

using Kind = data::SampleShape::Kind;

const std::vector<ModelFamily>& families() { return networks().families; }

struct ReadModel {
  const ModelFamily* family;
  Design design;
};

ReadModel read_model(std::string_view spec) {
  std::vector<std::string> names;
  for (const ModelFamily& family : families()) names.emplace_back(family.name);
  const auto read = [](std::string_view name, StageReader& reader) -> std::optional<ReadModel> {
    const auto family = std::ranges::find(families(), name, &ModelFamily::name);
    if (family == families().end()) return std::nullopt;
    return ReadModel{.family = &*family, .design = family->read(reader)};
  };
  return read_spec(spec, "model", read, names);
}

std::string describe(const data::SampleShape& shape) {
  switch (shape.kind) {
    case Kind::image:
      return "images of " + std::to_string(shape.height) + " x " + std::to_string(shape.width) +
             " pixels";
    case Kind::segments:
      return "images of " + std::to_string(shape.height) + " x " + std::to_string(shape.width) +
             " pixels with a class each";
    case Kind::features:
      return std::to_string(shape.width) + " features each";
    case Kind::text:
      break;
  }
  return "text of " + std::to_string(shape.width) + " tokens";
}

// "mlp, cnn or resnet20"
std::string models_for(const data::SampleShape& shape) {
  std::vector<std::string_view> names;
  for (const ModelFamily& family : families()) {
    if (family.fits(shape)) names.push_back(family.name);
  }
  std::string list;
  for (const std::string_view& name : names) {
    list += (list.empty() ? "" : &name == &names.back() ? " or " : ", ") + std::string(name);
  }
  return list;
}

void check_samples(const ModelFamily& family, const data::SampleShape& shape) {
  if (family.fits(shape)) return;
  throw UsageError("the model " + std::string(family.name) + " takes " + std::string(family.takes) +
                   ", and these samples are " + describe(shape) + ": take " + models_for(shape));
}

}  // namespace

std::unique_ptr<Model> make_model(std::string_view spec, const data::SampleShape& shape,
                                  std::uint64_t seed) {
  const ReadModel model = read_model(spec);
  check_samples(*model.family, shape);
  return networks().make(model.design, shape, seed);
}

ModelText parse_model(std::string_view spec) {
  const ReadModel model = read_model(spec);
  return {.spec = model.design.spec, .usual_data = std::string(model.family->usual_data)};
}

std::vector<std::string> example_models() {
  return {
#define GRADWIRE_MODEL(name, example) example,
#include "train/models.inc"
#undef GRADWIRE_MODEL
  };
}

}  // namespace gradwire::train
