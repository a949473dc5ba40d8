// numpy arrays as the bytes of a .gw file, and lists of what there is.
#include <pybind11/stl.h>

#include <algorithm>
#include <string>

#include "gradwire/codec/codec.h"
#include "gradwire/core/thread_pool.h"
#include "gradwire/file/gw_file.h"
#include "gradwire/method/method.h"
#include "python/native/arrays.h"
#include "python/native/bindings.h"

namespace gradwire::python {
namespace py = pybind11;
namespace {

py::bytes encode(const py::buffer& array, const std::string& spec, std::uint64_t seed,
                 std::size_t threads) {
  const FloatArray given(array);
  const std::span<const float> values = given.values();
  const Tensor tensor{.values = {values.begin(), values.end()}, .shape = given.shape()};
  std::vector<std::byte> bytes;
  {
    const py::gil_scoped_release released;
    ThreadPool pool(threads);
    bytes = gw_bytes(tensor, *make_codec(spec), seed, pool);
  }
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

py::buffer decode(const py::bytes& encoded, std::size_t threads) {
  const std::string_view text(encoded);
  Tensor tensor;
  {
    const py::gil_scoped_release released;
    const auto bytes = std::as_bytes(std::span(text));
    ThreadPool pool(threads);
    tensor = decode_gw(parse_gw_file("these bytes", {bytes.begin(), bytes.end()}), pool);
  }
  const auto shape = tensor.shape.value_or(std::vector<std::uint64_t>{tensor.values.size()});
  const py::buffer array = empty_array(shape);
  std::ranges::copy(tensor.values, FloatArray(array).values().begin());
  return array;
}

py::dict describe(const Codec& codec, std::size_t elements) {
  const Guarantee guarantee = codec.guarantee(elements);
  py::dict row;
  row["spec"] = codec.spec();
  row["guarantee"] = name(guarantee.kind);
  row["constant"] = guarantee.constant;
  row["reason"] = guarantee.reason;
  row["bits_per_element_max"] =
      8 * static_cast<double>(codec.payload_bytes_max(elements)) / static_cast<double>(elements);
  return row;
}

py::list codecs(std::size_t elements) {
  py::list rows;
  for (const std::string& spec : example_codec_specs()) {
    rows.append(describe(*make_codec(spec), elements));
  }
  return rows;
}

py::list methods() {
  py::list rows;
  for (const MethodExample& example : example_methods()) {
    py::dict row;
    row["spec"] = example.spec;
    row["memory"] = example.memory();
    row["topologies"] = example.topologies;
    row["what"] = example.what;
    rows.append(row);
  }
  return rows;
}

}  // namespace

void bind_arrays(py::module_& module) {
  module.def("encode", &encode, py::arg("array"), py::arg("spec"), py::arg("seed"),
             py::arg("threads"));
  module.def("decode", &decode, py::arg("encoded"), py::arg("threads"));
  module.def("codecs", &codecs, py::arg("elements"));
  module.def("methods", &methods);
}

}  // namespace gradwire::python
