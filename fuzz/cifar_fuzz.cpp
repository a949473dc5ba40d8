// CIFAR-binary files: any bytes are whole records with labels in range, or refused with a reason.
#include "data/cifar.h"
#include "fuzz/target.h"
#include "gradwire/core/check.h"

namespace gradwire::fuzz {

void test_input(std::span<const std::byte> input) {
  const data::Readable<data::CifarView> view = data::parse_cifar(input);
  if (!view) {
    GW_CHECK(!view.error().expected.empty() && !view.error().found.empty());
    GW_CHECK(view.error().byte_offset <= input.size());
    return;
  }
  GW_CHECK(view->records() > 0);
  GW_CHECK(view->records() * data::kCifarRecordBytes == input.size());
  for (std::size_t record = 0; record < view->records(); ++record) {
    GW_CHECK(view->label(record) < data::kCifarClasses);
    GW_CHECK(view->image(record).data() == input.data() + record * data::kCifarRecordBytes + 1);
    GW_CHECK(view->image(record).size() == data::kCifarImageBytes);
  }
}

}  // namespace gradwire::fuzz
