// The arguments of lgreco in a spec.
#pragma once

#include "gradwire/method/lgreco/lgreco.h"
#include "gradwire/method/method_reader.h"

namespace gradwire {

// Throws SpecError.
LgrecoOptions read_lgreco_options(MethodReader& reader);
LgrecoOptions read_accordion_options(MethodReader& reader);

}  // namespace gradwire
