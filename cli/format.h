// How numbers look in tables and messages. Pure functions.
#pragma once

#include <cstdint>
#include <string>

namespace gradwire::cli {

// 16777216 is "16,777,216".
std::string thousands(std::uint64_t number);

// With a fixed number of digits behind the point, or with so many that count. What is no number, as
// the ratio of nothing to nothing, is "-".
std::string fixed(double number, int decimals);
std::string significant(double number, int digits);

}  // namespace gradwire::cli
