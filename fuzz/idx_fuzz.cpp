// idx files: any bytes are dimensions and as many elements, or refused with a reason.
#include "data/idx.h"
#include "fuzz/target.h"
#include "gradwire/core/check.h"

namespace gradwire::fuzz {
namespace {

void test_dimensions(std::span<const std::byte> input, std::size_t dimensions) {
  const data::Readable<data::IdxView> view = data::parse_idx(input, dimensions);
  if (!view) {
    GW_CHECK(!view.error().expected.empty() && !view.error().found.empty());
    GW_CHECK(view.error().byte_offset <= input.size());
    return;
  }
  GW_CHECK(view->dimensions.size() == dimensions);
  std::size_t elements = 1;
  for (const std::size_t dimension : view->dimensions) {
    GW_CHECK(0 < dimension && dimension <= input.size());
    elements *= dimension;
  }
  GW_CHECK(elements == view->elements.size());
  GW_CHECK(data::idx_header_bytes(dimensions) + elements == input.size());
  GW_CHECK(view->elements.data() + elements == input.data() + input.size());
}

}  // namespace

void test_input(std::span<const std::byte> input) {
  for (const std::size_t dimensions : {std::size_t{1}, std::size_t{3}, data::kIdxDimensionsMax}) {
    test_dimensions(input, dimensions);
  }
}

}  // namespace gradwire::fuzz
