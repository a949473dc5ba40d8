#include "cli/advise_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>

#include "gradwire/core/usage_error.h"

namespace gradwire::cli {
namespace {

struct Unit {
  const char* name;  // in small letters
  double factor;
};
constexpr Unit kUnits[] = {{"", 1},       {"bit", 1},    {"kbit", 1e3},
                           {"mbit", 1e6}, {"gbit", 1e9}, {"tbit", 1e12}};

constexpr double kLeast = 1e3;
constexpr double kMost = 1e15;

}  // namespace

double parse_bandwidth(const std::string& text, const std::string& option) {
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  std::string unit(rest, end);
  std::erase(unit, ' ');
  // "GB/s" is something else, so B counts.
  const bool is_bytes = unit.find('B') != std::string::npos;
  std::ranges::transform(unit, unit.begin(), [](unsigned char c) { return std::tolower(c); });
  if (unit.ends_with("bps")) unit.replace(unit.size() - 2, 2, "it");
  if (unit.ends_with("/s")) unit.resize(unit.size() - 2);
  const auto known = std::ranges::find(kUnits, unit, &Unit::name);
  if (error != std::errc() || is_bytes || known == std::end(kUnits)) {
    throw UsageError(
        fmt::format("{}: '{}' is {}: use a rate in bits per second, such as 100Mbit, "
                    "1Gbit or 1e9",
                    option, text, is_bytes ? "in bytes" : "not a rate"));
  }
  const double bits_per_second = number * known->factor;
  if (!(bits_per_second >= kLeast && bits_per_second <= kMost)) {
    throw UsageError(fmt::format("{}: '{}' is not between 1 kbit/s and 1000 Tbit/s", option, text));
  }
  return bits_per_second;
}

CLI::Validator number_between(double least, double most) {
  return CLI::Validator(
      [least, most](const std::string& text) -> std::string {
        double number = 0;
        const bool is_number = CLI::detail::lexical_cast(text, number);
        if (is_number && number >= least && number <= most) return "";
        return fmt::format("expected a number from {} to {}, not '{}'", least, most, text);
      },
      "");
}

}  // namespace gradwire::cli
