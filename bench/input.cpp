#include "bench/input.h"

#include <algorithm>

#include "gradwire/core/error.h"
#include "gradwire/file/tensor_file.h"

namespace gradwire::bench {

PageArray<float> read_input(const std::string& path) {
  const Tensor tensor = read_tensor(path);
  if (tensor.values.empty()) throw FileError(path + ": has no elements to measure with");
  PageArray<float> values(tensor.values.size());
  std::ranges::copy(tensor.values, values.span().begin());
  return values;
}

}  // namespace gradwire::bench
