// What a fuzz target is: one function that takes any bytes, and stops the program (GW_CHECK, or a
// sanitizer) if gradwire does not keep its promises about them. Either libFuzzer calls it
// (libfuzzer.cpp), or replay.cpp.
#pragma once

#include <cstddef>
#include <span>

namespace gradwire::fuzz {

void test_input(std::span<const std::byte> input);

}  // namespace gradwire::fuzz
