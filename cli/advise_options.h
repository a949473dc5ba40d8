// Rates of links and other numbers of advise, as they are read from arguments. Pure functions.
#pragma once

#include <string>

namespace CLI {
class Validator;
}

namespace gradwire::cli {

// Bits in a second: "1Gbit", "100Mbit/s", "25Gbps", "1e9". Throws UsageError.
double parse_bandwidth(const std::string& text, const std::string& option = "--bandwidth");

// For Option::check: a number from `least` to `most`.
CLI::Validator number_between(double least, double most);

}  // namespace gradwire::cli
