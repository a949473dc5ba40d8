// Errors of the library become those of gradwire/errors.py.
#include <exception>

#include "gradwire/core/error.h"
#include "gradwire/transport/transport.h"
#include "python/native/bindings.h"

namespace gradwire::python {
namespace py = pybind11;
namespace {

void raise(const char* name, const std::exception& error) {
  const py::object type = py::module_::import("gradwire.errors").attr(name);
  PyErr_SetString(type.ptr(), error.what());
}

void raise_peer_error(const PeerError& error) {
  const py::object type = py::module_::import("gradwire.errors").attr("PeerError");
  PyErr_SetObject(type.ptr(), type(error.what(), error.rank()).ptr());
}

}  // namespace

void bind_errors(py::module_&) {
  py::register_exception_translator([](std::exception_ptr thrown) {
    try {
      if (thrown) std::rethrow_exception(thrown);
    } catch (const PeerError& error) {
      raise_peer_error(error);
    } catch (const StartError& error) {
      raise("StartError", error);
    } catch (const SpecError& error) {
      raise("SpecError", error);
    } catch (const FileError& error) {
      raise("FileError", error);
    } catch (const Error& error) {
      raise("Error", error);
    }
  });
}

}  // namespace gradwire::python
