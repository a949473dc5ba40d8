// Arrays of numpy, through Python's buffer protocol. pybind11's own numpy.h reads numpy's
// structures, which differ between numpy 1 and 2; the buffer protocol does not.
#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>
#include <span>
#include <vector>

namespace gradwire::python {

// Of 32-bit floats without gaps.
struct FloatArray {
  pybind11::buffer_info memory;  // keeps the array alive

  explicit FloatArray(const pybind11::buffer& array) : memory(array.request()) {}

  std::span<float> values() const {
    return {static_cast<float*>(memory.ptr), static_cast<std::size_t>(memory.size)};
  }
  std::vector<std::uint64_t> shape() const { return {memory.shape.begin(), memory.shape.end()}; }
};

inline pybind11::buffer empty_array(const std::vector<std::uint64_t>& shape) {
  const pybind11::tuple sizes = pybind11::tuple(shape.size());
  for (std::size_t i = 0; i < shape.size(); ++i) sizes[i] = shape[i];
  return pybind11::module_::import("numpy").attr("empty")(sizes, "float32");
}

}  // namespace gradwire::python
