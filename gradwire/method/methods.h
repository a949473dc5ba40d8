// The methods of the library, each described by its own file. A new method is a file that defines
// `MethodEntry NAME_method()`, and a line in methods.inc.
#pragma once

#include "gradwire/method/registry.h"

namespace gradwire {

#define GRADWIRE_METHOD(name) MethodEntry name##_method();
#include "gradwire/method/methods.inc"
#undef GRADWIRE_METHOD

}  // namespace gradwire
