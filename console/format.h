// Numbers as text, for tables and messages. Pure functions.
#pragma once

#include <cstdint>
#include <string>

namespace gradwire::console {

// 16777216 is "16,777,216".
std::string thousands(std::uint64_t number);

// With a fixed number of decimals, or of significant digits. A NaN or an infinity is "-".
std::string fixed(double number, int decimals);
std::string significant(double number, int digits);

// "1 h 05 min", "12 min 30 s" or "42 s".
std::string duration_text(double seconds);

}  // namespace gradwire::console
