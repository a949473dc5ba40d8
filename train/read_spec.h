// Reads specs of one stage: an optimiser, a schedule. Header only.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gradwire/codec/spec.h"

namespace gradwire::train {

// `read(name, reader)` gives an optional that is empty for a name that it does not know. Throws
// SpecError that calls the thing `what` and says which names there are.
template <class Read>
auto read_spec(std::string_view text, const std::string& what, Read read,
               const std::vector<std::string>& names) {
  const Spec spec = parse_spec(text);
  if (spec.stages.size() != 1) fail_at(text, 0, "expected one " + what + ", not a pipe");
  const std::string name(spec.stages[0].name);
  StageReader reader(text, spec.stages[0]);
  auto result = read(name, reader);
  if (!result) {
    std::string list;
    for (const std::string& known : names) {
      list += (list.empty() ? "" : known == names.back() ? " and " : ", ") + known;
    }
    const auto nearest = nearest_name(name, names);
    reader.fail("there is no " + what + " called '" + name + "'" +
                (nearest ? "; did you mean '" + *nearest + "'?" : "; known are " + list));
  }
  reader.finish();
  return *std::move(result);
}

}  // namespace gradwire::train
