#include "cli/progress.h"

#include <fmt/format.h>

#include <ostream>

namespace gradwire::cli {
namespace {

using namespace std::chrono_literals;

constexpr auto kLiveInterval = 100ms;
constexpr auto kLogInterval = 10s;
constexpr std::string_view kWipeLine = "\r\x1b[K";

}  // namespace

Progress::Progress(const Console& console, std::string what, std::size_t steps)
    : console_(console),
      what_(std::move(what)),
      steps_(steps),
      next_(Clock::now() + (console.err_is_terminal ? Clock::duration(0s) : kLogInterval)) {}

Progress::~Progress() {
  if (live_line_) console_.err << kWipeLine << std::flush;
}

void Progress::step(std::string_view what) {
  const std::size_t done = begun_++;
  const Clock::time_point now = Clock::now();
  if (now < next_) return;
  const std::string line = fmt::format("{}: {}% ({})", what_, 100 * done / steps_, what);
  if (console_.err_is_terminal) {
    console_.err << kWipeLine << line << std::flush;
    live_line_ = true;
    next_ = now + kLiveInterval;
  } else {
    console_.err << line << std::endl;
    next_ = now + kLogInterval;
  }
}

}  // namespace gradwire::cli
