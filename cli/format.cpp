#include "cli/format.h"

#include <fmt/format.h>

#include <cmath>

namespace gradwire::cli {

std::string thousands(std::uint64_t number) {
  std::string text = std::to_string(number);
  for (std::size_t digits = 3; digits < text.size(); digits += 4) {
    text.insert(text.size() - digits, ",");
  }
  return text;
}

std::string fixed(double number, int decimals) {
  return std::isfinite(number) ? fmt::format("{:.{}f}", number, decimals) : "-";
}

std::string significant(double number, int digits) {
  return std::isfinite(number) ? fmt::format("{:.{}g}", number, digits) : "-";
}

}  // namespace gradwire::cli
