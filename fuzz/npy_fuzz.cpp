// .npy files: any bytes are a shape and its floats, or refused with a reason.
#include <cstring>
#include <vector>

#include "fuzz/target.h"
#include "gradwire/core/check.h"
#include "gradwire/file/npy.h"
#include "gradwire/file/tensor.h"

namespace gradwire::fuzz {

void test_input(std::span<const std::byte> input) {
  const Decoded<NpyView> view = parse_npy(input);
  if (!view) {
    GW_CHECK(std::strlen(view.error().what) > 0);
    GW_CHECK(view.error().byte_offset <= input.size());
    return;
  }
  const auto elements = shape_elements(view->shape);
  GW_CHECK(elements && *elements * sizeof(float) == view->data.size());
  GW_CHECK(view->data.size() <= input.size());
  GW_CHECK(view->data.data() + view->data.size() == input.data() + input.size());

  // What we write for the same shape is read as the same.
  std::vector<std::byte> written = npy_header(view->shape);
  written.insert(written.end(), view->data.begin(), view->data.end());
  const Decoded<NpyView> again = parse_npy(written);
  GW_CHECK(again && again->shape == view->shape && again->data.size() == view->data.size());
}

}  // namespace gradwire::fuzz
