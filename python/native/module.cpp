// gradwire._native: the library as the Python package calls it. Tensors come as addresses of their
// floats, so that nothing here depends on the installed torch; the package keeps them alive.
#include "gradwire/version.h"
#include "python/native/bindings.h"

PYBIND11_MODULE(_native, module) {
  module.attr("__version__") = GRADWIRE_VERSION;
  gradwire::python::bind_errors(module);
  gradwire::python::bind_arrays(module);
  gradwire::python::bind_states(module);
  gradwire::python::bind_averager(module);
  gradwire::python::bind_elastic(module);
}
