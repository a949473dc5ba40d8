// For tests: calls the program in this process, and keeps what it writes.
#pragma once

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "cli/program.h"
#include "console/json.h"
#include "gradwire/file/test_text.h"

namespace gradwire::cli {

using console::Json;

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

// The names of an object's fields, in order.
inline std::vector<std::string> fields(const Json& object) {
  std::vector<std::string> names;
  for (const auto& [name, value] : object.items()) names.push_back(name);
  return names;
}

}  // namespace gradwire::cli
