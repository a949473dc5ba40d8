// For tests: short ways to look at texts.
#pragma once

#include <string_view>

namespace gradwire {

inline bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace gradwire
