// What can be set of lgc. Value types.
#pragma once

#include <cstddef>
#include <string>

#include "gradwire/method/lgc/code_network.h"
#include "gradwire/method/lgc/phases.h"
#include "gradwire/method/method_reader.h"

namespace gradwire {

enum class LgcInstance {
  ring,    // every rank sends its own code
  server,  // one sends a code for all, and each what is new with it
};

struct LgcOptions {
  std::string spec;
  LgcInstance instance = LgcInstance::ring;
  double share = 0.01;  // of a layer's values that are sent
  LgcPhaseOptions phases;
  CodeKind code = CodeKind::linear;
  std::size_t channels = kCodeBlock;
  double bits = 2;              // of the code, for each value
  std::string values = "sign";  // how the leader writes its own beside their indices
  std::string innovation;       // the codec of what is new with a rank, on a server
};

// The arguments of lgc in a spec. Throws SpecError.
LgcOptions read_lgc_options(MethodReader& reader);

}  // namespace gradwire
