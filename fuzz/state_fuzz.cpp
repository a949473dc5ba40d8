// States of methods: any bytes are a state, and the very bytes that are written for it, or refused
// with a reason.
#include <algorithm>
#include <cstring>
#include <vector>

#include "fuzz/target.h"
#include "gradwire/core/bytes.h"
#include "gradwire/core/check.h"
#include "gradwire/method/state.h"
#include "gradwire/wire/frame.h"

namespace gradwire::fuzz {
namespace {

// Offset as in docs/wire_format.md.
constexpr std::size_t kBytesAt = 16;

// Makes length and checksum right: what is altered would all be refused for these otherwise.
void repair_state(std::span<std::byte> bytes) {
  if (bytes.size() < kBytesAt + 2 * sizeof(std::uint64_t)) return;
  store_le(bytes, kBytesAt, std::uint64_t{bytes.size()});
  const std::size_t checksum_at = bytes.size() - sizeof(std::uint64_t);
  store_le(bytes, checksum_at, checksum(bytes.first(checksum_at)));
}

void check_state(std::span<const std::byte> bytes) {
  const Decoded<MethodState> state = parse_state(bytes);
  if (!state) {
    GW_CHECK(std::strlen(state.error().what) > 0);
    GW_CHECK(state.error().byte_offset <= bytes.size());
    return;
  }
  GW_CHECK(state->rank < state->ranks);
  GW_CHECK(std::ranges::equal(to_bytes(*state), bytes));
}

}  // namespace

void test_input(std::span<const std::byte> input) {
  check_state(input);
  std::vector<std::byte> repaired(input.begin(), input.end());
  repair_state(repaired);
  check_state(repaired);
}

}  // namespace gradwire::fuzz
