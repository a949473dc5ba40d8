// The options of local(...), read from its spec. Value type.
#pragma once

#include <string>

#include "gradwire/method/local/outer_step.h"
#include "gradwire/method/local/schedule.h"
#include "gradwire/method/method_reader.h"
#include "gradwire/method/parsed_method.h"

namespace gradwire {

struct LocalOptions {
  std::string spec;
  ParsedMethod inner;  // of exchanges; a codec alone has an error memory around it
  ParsedMethod dense;  // of the steps before the first one of the workers' own
  LocalSchedule schedule = {};
  OuterStep outer = {};
  float mix = 0.5F;  // the share of a worker's own parameters where an exchange arrives late
};

// Throws SpecError.
LocalOptions read_local_options(MethodReader& reader);

}  // namespace gradwire
