// What the module gradwire._native is made of.
#pragma once

#include <pybind11/pybind11.h>

namespace gradwire::python {

void bind_errors(pybind11::module_& module);
void bind_arrays(pybind11::module_& module);
void bind_states(pybind11::module_& module);
void bind_averager(pybind11::module_& module);
void bind_elastic(pybind11::module_& module);

}  // namespace gradwire::python
