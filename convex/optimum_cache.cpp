#include "convex/optimum_cache.h"

#include <cmath>
#include <optional>
#include <string>

#include "gradwire/codec/spec.h"
#include "gradwire/core/error.h"
#include "gradwire/wire/frame.h"
#include "record/fields.h"
#include "record/hash_text.h"
#include "record/json_file.h"

namespace gradwire::convex {
namespace {

using record::Json;

// Everything that the optimum depends on.
std::string key_of(const Objective& objective) {
  const Problem& problem = objective.problem;
  return "data " + record::hash_text(data::data_checksum(problem.data())) + ", " +
         name(problem.loss()) + ", l2 " + format_number(problem.l2()) + ", " +
         objective.regulariser.spec();
}

Optimum from_json(const Json& json, const Objective& objective, const std::string& key) {
  if (record::field<std::string>(json, "key") != key) throw Error("is of another problem");
  auto x = record::field<std::vector<double>>(json, "x");
  if (x.size() != objective.problem.features()) throw Error("has another number of features");
  Optimum optimum = judge(objective, std::move(x));
  if (!optimum.is_proven) optimum.error = record::field<double>(json, "error");
  const double value = record::field<double>(json, "value");
  if (!optimum.is_exact() || !(std::abs(value - optimum.value) <= kOptimumError)) {
    throw Error("is not the optimum");
  }
  return optimum;
}

std::optional<Optimum> read(const std::filesystem::path& path, const Objective& objective,
                            const std::string& key) {
  try {
    return from_json(record::read_json_file(path), objective, key);
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace

std::filesystem::path optimum_path(const Objective& objective,
                                   const std::filesystem::path& directory) {
  return directory / ("optimum-" + record::hash_text(fingerprint(key_of(objective))) + ".json");
}

Optimum find_optimum_once(const Objective& objective, const std::filesystem::path& directory) {
  const std::filesystem::path path = optimum_path(objective, directory);
  const std::string key = key_of(objective);
  if (auto known = read(path, objective, key)) return *std::move(known);
  Optimum optimum = find_optimum(objective);
  std::error_code ignored;  // what is wrong with the directory, writing will say
  std::filesystem::create_directories(directory, ignored);
  record::write_json_file(path, {{"key", key},
                                 {"value", optimum.value},
                                 {"error", optimum.error},
                                 {"is_proven", optimum.is_proven},
                                 {"x", optimum.x}});
  return optimum;
}

}  // namespace gradwire::convex
