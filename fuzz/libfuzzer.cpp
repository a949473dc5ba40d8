// What libFuzzer calls.
#include <cstdint>

#include "fuzz/target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  gradwire::fuzz::test_input(std::as_bytes(std::span(data, bytes)));
  return 0;
}
