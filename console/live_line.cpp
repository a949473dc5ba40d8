#include "console/live_line.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <ostream>

namespace gradwire::console {
namespace {

using namespace std::chrono_literals;

constexpr auto kLiveInterval = 100ms;
constexpr auto kFirstLog = 500ms;  // the log of a short command stays empty
constexpr auto kLogInterval = 10s;
constexpr std::string_view kWipeLine = "\r\x1b[K";

// A longer line would wrap, and could not be wiped.
std::size_t terminal_columns() {
  constexpr std::size_t kUsual = 80;
  winsize size{};
  const bool is_known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
  return is_known ? size.ws_col : kUsual;
}

}  // namespace

LiveLine::LiveLine(const Console& console)
    : console_(console),
      next_(Clock::now() + (console.err_is_terminal ? Clock::duration(0s) : kFirstLog)) {}

LiveLine::~LiveLine() {
  if (is_shown_) console_.err << kWipeLine << std::flush;
}

void LiveLine::show(std::string_view line) {
  if (!is_due()) return;
  if (console_.err_is_terminal) {
    console_.err << kWipeLine << line.substr(0, terminal_columns() - 1) << std::flush;
    is_shown_ = true;
    next_ = Clock::now() + kLiveInterval;
  } else {
    console_.err << line << std::endl;
    next_ = Clock::now() + kLogInterval;
  }
}

void LiveLine::say(std::string_view line) {
  if (is_shown_) console_.err << kWipeLine;
  is_shown_ = false;
  console_.err << line << std::endl;
}

}  // namespace gradwire::console
