#include "train/model.h"

#include <algorithm>
#include <optional>

#include "train/design.h"
#include "train/read_spec.h"
#include "train/torch_model.h"

namespace gradwire::train {
namespace {

struct Family {
  std::string_view name;
  Design (*read)(StageReader&);
};

constexpr Family kFamilies[] = {{"mlp", design_mlp},
                                {"cnn", design_cnn},
                                {"resnet20", design_resnet20},
                                {"resnet18", design_resnet18},
                                {"transformer", design_transformer}};

Design read_design(std::string_view spec) {
  std::vector<std::string> names;
  for (const Family& family : kFamilies) names.emplace_back(family.name);
  const auto read = [](std::string_view name, StageReader& reader) {
    const auto family = std::ranges::find(kFamilies, name, &Family::name);
    return family == std::end(kFamilies) ? std::nullopt : std::optional(family->read(reader));
  };
  return read_spec(spec, "model", read, names);
}

}  // namespace

std::unique_ptr<Model> make_model(std::string_view spec, const data::SampleShape& shape,
                                  std::uint64_t seed) {
  return make_torch_model(read_design(spec), shape, seed);
}

std::string check_model(std::string_view spec) { return read_design(spec).spec; }

}  // namespace gradwire::train
