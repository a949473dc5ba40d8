// A leader's indices: any bytes are indices within the layers, sorted by layer, with units that can
// be divided by, or they are refused with a reason.
#include <cmath>
#include <cstring>
#include <iterator>

#include "fuzz/lgc_indices_input.h"
#include "fuzz/target.h"
#include "gradwire/core/check.h"
#include "gradwire/method/lgc/shared_indices.h"

namespace gradwire::fuzz {

void test_input(std::span<const std::byte> input) {
  if (input.empty()) return;
  const auto choice = static_cast<std::size_t>(input[0]) % kIndexCodecs.size();
  // In memory of their own size, so that a sanitizer sees every byte read behind them.
  const std::vector<std::byte> bytes(input.begin() + 1, input.end());
  static IndexMessage messages[] = {experienced_message(0), experienced_message(1)};
  static_assert(std::size(messages) == kIndexCodecs.size());
  IndexMessage& message = messages[choice];
  const auto indices = message.read(bytes);
  if (!indices) {
    GW_CHECK(std::strlen(indices.error().what) > 0);
    GW_CHECK(indices.error().byte_offset <= bytes.size());
    return;
  }
  GW_CHECK(indices->at.size() == indices->units.size());
  GW_CHECK(indices->size() <= message.indices_max());
  bool is_second = false;
  for (std::size_t i = 0; i < indices->size(); ++i) {
    GW_CHECK(indices->at[i] < kIndexElements);
    GW_CHECK(std::isnormal(indices->units[i]));
    GW_CHECK(!is_second || indices->at[i] >= kIndexFirst);
    is_second = indices->at[i] >= kIndexFirst;
  }
}

}  // namespace gradwire::fuzz
