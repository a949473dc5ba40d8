// The first bytes of a connection between ranks: a hello that is written back to the same bytes, or
// nothing.
#include <algorithm>

#include "fuzz/target.h"
#include "fuzz/tcp_hello_input.h"
#include "gradwire/core/check.h"

namespace gradwire::fuzz {

void test_input(std::span<const std::byte> input) {
  TcpHello::Bytes bytes{};
  std::ranges::copy(input.first(std::min(input.size(), bytes.size())), bytes.begin());
  const auto hello = TcpHello::read(bytes, kFuzzGroupKey);
  GW_CHECK(!hello || hello->write() == bytes);
  GroupKey other = kFuzzGroupKey;
  other.back() ^= std::byte{1};
  GW_CHECK(!hello || !TcpHello::read(bytes, other));
}

}  // namespace gradwire::fuzz
