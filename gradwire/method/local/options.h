// The options of local(...), read from its spec. Value types.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "gradwire/method/local/schedule.h"
#include "gradwire/method/method_reader.h"
#include "gradwire/method/parsed_method.h"

namespace gradwire {

// The step of the common model: SGD with Nesterov momentum. With a momentum of 0, plain SGD.
struct OuterStep {
  double rate = 1;
  double momentum = 0;

  // How far the model moves in the long run, over the mean of what workers moved by.
  double gain() const { return rate / (1 - momentum); }
  std::string spec() const;
};

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
