// For tests: calls the program in this process, and keeps what it writes.
#pragma once

#include <sstream>
#include <string>
#include <vector>

#include "cli/json.h"
#include "cli/program.h"

namespace gradwire::cli {

struct Outcome {
  int exit_code = 0;
  std::string out;
  std::string err;

  // Of a call with --json: stdout is one document and nothing else, or this throws.
  Json json() const { return Json::parse(out); }
};

inline Outcome gradwire(std::vector<std::string> arguments) {
  std::ostringstream out;
  std::ostringstream err;
  const int exit_code = run_program(std::move(arguments), {.out = out, .err = err});
  return {exit_code, out.str(), err.str()};
}

inline bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// The names of an object's fields, in order.
inline std::vector<std::string> fields(const Json& object) {
  std::vector<std::string> names;
  for (const auto& [name, value] : object.items()) names.push_back(name);
  return names;
}

}  // namespace gradwire::cli
