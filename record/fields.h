// Reads fields of JSON objects from files. The error names a field that is missing or of another
// type. Header only.
#pragma once

#include <cmath>
#include <optional>
#include <string>

#include "gradwire/core/error.h"
#include "record/json_file.h"

namespace gradwire::record {

// Throws Error.
template <class T>
T field(const Json& object, const char* name) {
  const auto found = object.is_object() ? object.find(name) : object.end();
  if (!object.is_object() || found == object.end()) {
    throw Error("the field '" + std::string(name) + "' is missing");
  }
  try {
    return found->template get<T>();
  } catch (const Json::exception&) {
    throw Error("the field '" + std::string(name) + "' is of another type");
  }
}

// An optional number. Null stands for a number that was not finite.
inline std::optional<double> optional_number(const Json& object, const char* name) {
  if (!object.contains(name)) return std::nullopt;
  if (object[name].is_null()) return std::nan("");
  return field<double>(object, name);
}

}  // namespace gradwire::record
