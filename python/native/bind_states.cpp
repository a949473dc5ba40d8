// States of methods as bytes: what is in them, and how they are redistributed.
#include <pybind11/stl.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "gradwire/core/error.h"
#include "gradwire/method/state.h"
#include "python/native/arrays.h"
#include "python/native/bindings.h"
#include "python/native/state_bytes.h"

namespace gradwire::python {
namespace py = pybind11;

py::bytes state_bytes(const MethodState& state) {
  const std::vector<std::byte> bytes = to_bytes(state);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

namespace {

// As plain_name of tensors.py: states of older versions have the names of compiled modules.
std::string plain_name(std::string name) {
  constexpr std::string_view kCompiled = "_orig_mod.";
  std::size_t at = 0;
  while ((at = name.find(kCompiled, at)) != std::string::npos) {
    const bool is_whole = at == 0 || name[at - 1] == '.';
    if (is_whole) {
      name.erase(at, kCompiled.size());
    } else {
      at += kCompiled.size();
    }
  }
  return name;
}

}  // namespace

MethodState state_of(const py::bytes& bytes) {
  const std::string_view text(bytes);
  auto state = parse_state(std::as_bytes(std::span(text)));
  if (state) {
    for (StateTensor& tensor : state->tensors) tensor.name = plain_name(std::move(tensor.name));
    for (StateArray& array : state->arrays) array.tensor = plain_name(std::move(array.tensor));
    return std::move(*state);
  }
  throw Error("this is not the state of a gradwire method: at byte " +
              std::to_string(state.error().byte_offset) + ": " + state.error().what);
}

namespace {

py::dict describe(const py::bytes& bytes) {
  const MethodState state = state_of(bytes);
  py::list tensors;
  for (const StateTensor& tensor : state.tensors) {
    tensors.append(py::make_tuple(tensor.name, tensor.shape));
  }
  py::dict description;
  description["spec"] = state.spec;
  description["rank"] = state.rank;
  description["ranks"] = state.ranks;
  description["tensors"] = tensors;
  return description;
}

// What is remembered: memory, tensor, first element, values.
py::list arrays(const py::bytes& bytes) {
  py::list all;
  for (const StateArray& array : state_of(bytes).arrays) {
    const py::buffer values = empty_array({array.values.size()});
    std::ranges::copy(array.values, FloatArray(values).values().begin());
    all.append(py::make_tuple(array.memory, array.tensor, array.first, values));
  }
  return all;
}

py::bytes deal_out(const std::vector<py::bytes>& all, std::size_t rank, std::size_t ranks) {
  std::vector<MethodState> old;
  for (const py::bytes& bytes : all) old.push_back(state_of(bytes));
  return state_bytes(reshare(old, rank, ranks));
}

}  // namespace

void bind_states(py::module_& module) {
  module.def("describe_state", &describe, py::arg("state"));
  module.def("state_arrays", &arrays, py::arg("state"));
  module.def("reshare", &deal_out, py::arg("states"), py::arg("rank"), py::arg("ranks"));
}

}  // namespace gradwire::python
