// A leader's places: any bytes are places within the layers, sorted by layer, with units that can
// be divided by, or they are refused with a reason.
#include <cmath>
#include <cstring>
#include <memory>

#include "fuzz/places_input.h"
#include "fuzz/target.h"
#include "gradwire/core/check.h"
#include "learned/places.h"

namespace gradwire::fuzz {

void test_input(std::span<const std::byte> input) {
  if (input.empty()) return;
  const auto choice = static_cast<std::size_t>(input[0]) % kPlaceCodecs.size();
  // In memory of their own size, so that a sanitizer sees every byte read behind them.
  const std::vector<std::byte> bytes(input.begin() + 1, input.end());
  learned::PlaceMessage message(kPlaceLayers, kPlaceShare, kPlaceCodecs[choice]);
  const auto places = message.read(bytes);
  if (!places) {
    GW_CHECK(std::strlen(places.error().what) > 0);
    GW_CHECK(places.error().byte_offset <= bytes.size());
    return;
  }
  GW_CHECK(places->at.size() == places->units.size());
  GW_CHECK(places->size() <= message.places_max());
  bool is_second = false;
  for (std::size_t i = 0; i < places->size(); ++i) {
    GW_CHECK(places->at[i] < kPlaceLayers[0] + kPlaceLayers[1]);
    GW_CHECK(std::isnormal(places->units[i]));
    GW_CHECK(!is_second || places->at[i] >= kPlaceLayers[0]);
    is_second = places->at[i] >= kPlaceLayers[0];
  }
}

}  // namespace gradwire::fuzz
