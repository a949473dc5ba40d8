#include "console/format.h"

#include <fmt/format.h>

#include <cmath>

namespace gradwire::console {

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

std::string duration_text(double seconds) {
  const auto whole = static_cast<std::uint64_t>(std::max(std::round(seconds), 0.0));
  if (whole >= 3600) return fmt::format("{} h {:02} min", whole / 3600, whole / 60 % 60);
  if (whole >= 60) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} s", whole);
}

}  // namespace gradwire::console
