// The options of lgc. Value types.
#pragma once

#include <cstddef>
#include <string>

#include "gradwire/method/lgc/code_network.h"
#include "gradwire/method/lgc/phases.h"
#include "gradwire/method/method_reader.h"

namespace gradwire {

enum class LgcInstance {
  ring,    // each rank sends its own code
  server,  // one rank sends a code of the common part, and each rank its innovation
};

struct LgcOptions {
  std::string spec;
  LgcInstance instance = LgcInstance::ring;
  double share = 0.01;  // of a layer's values that are sent
  LgcPhaseOptions phases;
  CodeKind code = CodeKind::linear;
  std::size_t channels = kCodeBlock;
  double bits = 2;              // of the code, for each value
  std::string values = "sign";  // codec of the leader's values, which it sends with the indices
  std::string innovation;       // codec of the innovation, for the instance server
};

// The arguments of lgc in a spec. Throws SpecError.
LgcOptions read_lgc_options(MethodReader& reader);

}  // namespace gradwire
