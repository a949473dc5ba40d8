// The options of adam(...), read from its spec. Value types.
#pragma once

#include <optional>
#include <string>

#include "gradwire/method/adam/phases.h"
#include "gradwire/method/method_reader.h"
#include "gradwire/method/parsed_method.h"

namespace gradwire {

struct AdamOptions {
  std::string spec;
  ParsedMethod inner;           // of compressed steps; a codec alone has an error memory around it
  ParsedMethod dense;           // of the warm-up and of refreshes
  bool sends_momentum = true;   // else compressed steps send gradients
  MomentSettings moments = {};  // unless MethodOptions::moments has others
  AdamSchedule schedule = {};   // without its window
  std::optional<double> clip = {};  // limit on the norm of the mean gradient
};

// Throws SpecError.
AdamOptions read_adam_options(MethodReader& reader);

}  // namespace gradwire
