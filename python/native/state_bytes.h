// States of methods as Python holds them.
#pragma once

#include <pybind11/pybind11.h>

#include "gradwire/method/state.h"

namespace gradwire::python {

pybind11::bytes state_bytes(const MethodState& state);

// Throws Error for bytes that are none.
MethodState state_of(const pybind11::bytes& bytes);

}  // namespace gradwire::python
