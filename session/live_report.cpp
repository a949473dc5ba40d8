#include "session/live_report.h"

#include <fmt/format.h>

#include <cmath>

#include "console/format.h"
#include "record/prediction.h"

namespace gradwire::session {

void LiveReport::show(const Report& report) {
  for (const std::string& note : report.notes) line_.say(method_ + ": " + note);
  if (!line_.is_due()) return;
  std::string line = fmt::format("{}: {}/{}, {} left", method_, report.step, steps_,
                                 console::duration_text(report.seconds_left));
  if (const auto loss = report.loss ? report.loss : report.metrics.loss) {
    line += fmt::format(", loss {}", console::significant(*loss, 3));
  }
  if (report.metrics.accuracy) {
    line += fmt::format(", accuracy {}%", console::fixed(100 * *report.metrics.accuracy, 1));
  }
  const double samples_per_second = report.steps_per_second * samples_per_step_;
  line += fmt::format(", {} samples/s",
                      console::thousands(static_cast<std::uint64_t>(samples_per_second)));
  if (report.quiet_steps > 0) {
    line += fmt::format(", {} exchanges", console::thousands(report.step - report.quiet_steps));
  }
  if (workers_ > 1 && report.bytes_up > 0) {
    const double ratio = record::ring_bytes(report.parameters, workers_) *
                         static_cast<double>(report.step) / static_cast<double>(report.bytes_up);
    line += fmt::format(", ratio {}, {} MB sent", console::significant(ratio, 3),
                        console::fixed(static_cast<double>(report.bytes_up) * 1e-6, 1));
  }
  line_.show(line);
}

}  // namespace gradwire::session
