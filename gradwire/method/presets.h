// Presets: names that stand for a whole spec, as publications have them.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "gradwire/method/method.h"

namespace gradwire {

struct MethodPreset {
  std::string_view name;
  std::string_view spec;
  std::optional<MethodExample> example = {};  // null: listings name it beside another one
};

std::span<const MethodPreset> method_presets();

}  // namespace gradwire
