// Values for the page's document, and values out of documents that may lack them. Header only.
#pragma once

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>

#include "record/json_file.h"

namespace gradwire::report {

using record::Json;

// Seven digits, which is more than a page shows, and keeps it small. What is no finite number is
// null.
inline Json rounded(double value) {
  if (!std::isfinite(value)) return nullptr;
  char text[32];
  std::snprintf(text, sizeof text, "%.7g", value);
  return std::strtod(text, nullptr);
}

inline Json rounded(std::optional<double> value) { return value ? rounded(*value) : Json(); }

// Null where there is no such field.
inline const Json& member(const Json& object, const char* name) {
  static const Json kNone;
  if (!object.is_object()) return kNone;
  const auto found = object.find(name);
  return found == object.end() ? kNone : *found;
}

inline std::string text_member(const Json& object, const char* name) {
  const Json& value = member(object, name);
  return value.is_string() ? value.get<std::string>() : "";
}

inline std::optional<double> number_member(const Json& object, const char* name) {
  const Json& value = member(object, name);
  return value.is_number() ? std::optional(value.get<double>()) : std::nullopt;
}

}  // namespace gradwire::report
