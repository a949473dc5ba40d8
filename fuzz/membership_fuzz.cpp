// Messages of members: any bytes are a message, and the very bytes that are written for it, or are
// refused with a reason. A member survives every message, whoever sends it.
#include <algorithm>
#include <cstring>

#include "fuzz/target.h"
#include "gradwire/core/check.h"
#include "gradwire/membership/membership.h"
#include "gradwire/membership/test_support.h"

namespace gradwire::fuzz {

using namespace membership;

void test_input(std::span<const std::byte> input) {
  const Decoded<Message> message = parse_message(input);
  if (!message) {
    GW_CHECK(std::strlen(message.error().what) > 0);
    GW_CHECK(message.error().byte_offset <= input.size());
    return;
  }
  GW_CHECK(std::ranges::equal(to_bytes(*message), input));

  // View 1, and every rank's word for it; then time passes.
  Membership member({}, example_member(2), example_view(1, 3), 0, Time(0));
  Membership newcomer({}, example_member(9), std::vector<std::string>{"host1:29400"}, Time(0));
  for (std::uint64_t from = 1; from <= 4; ++from) {
    member.on_message({0, from}, *message, Time(10));
    newcomer.on_message({0, from}, *message, Time(10));
  }
  for (int tick = 1; tick <= 3; ++tick) {
    member.on_tick(Time(6'000 * tick));
    newcomer.on_tick(Time(6'000 * tick));
  }
}

}  // namespace gradwire::fuzz
