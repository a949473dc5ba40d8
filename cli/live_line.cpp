#include "cli/live_line.h"

#include <ostream>

namespace gradwire::cli {
namespace {

using namespace std::chrono_literals;

constexpr auto kLiveInterval = 100ms;
constexpr auto kLogInterval = 10s;
constexpr std::string_view kWipeLine = "\r\x1b[K";

}  // namespace

LiveLine::LiveLine(const Console& console)
    : console_(console),
      next_(Clock::now() + (console.err_is_terminal ? Clock::duration(0s) : kLogInterval)) {}

LiveLine::~LiveLine() {
  if (is_shown_) console_.err << kWipeLine << std::flush;
}

void LiveLine::show(std::string_view line) {
  if (!is_due()) return;
  if (console_.err_is_terminal) {
    console_.err << kWipeLine << line << std::flush;
    is_shown_ = true;
    next_ = Clock::now() + kLiveInterval;
  } else {
    console_.err << line << std::endl;
    next_ = Clock::now() + kLogInterval;
  }
}

}  // namespace gradwire::cli
