#include "cli/live_report.h"

#include <fmt/format.h>

#include <cmath>

#include "cli/format.h"
#include "record/prediction.h"

namespace gradwire::cli {

std::string duration_text(double seconds) {
  const auto whole = static_cast<std::uint64_t>(std::max(std::round(seconds), 0.0));
  if (whole >= 3600) return fmt::format("{} h {:02} min", whole / 3600, whole / 60 % 60);
  if (whole >= 60) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} s", whole);
}

void LiveReport::show(const train::Report& report) {
  for (const std::string& note : report.notes) line_.say(method_ + ": " + note);
  if (!line_.is_due()) return;
  std::string line = fmt::format("{}: {}/{}, {} left, loss {}", method_, report.step, steps_,
                                 duration_text(report.seconds_left), significant(report.loss, 3));
  if (report.metrics.accuracy) {
    line += fmt::format(", accuracy {}%", fixed(100 * *report.metrics.accuracy, 1));
  }
  line +=
      fmt::format(", {} samples/s",
                  thousands(static_cast<std::uint64_t>(std::max(report.samples_per_second, 0.0))));
  if (workers_ > 1) {
    const double ratio = record::ring_bytes(report.parameters, workers_) *
                         static_cast<double>(report.step) / static_cast<double>(report.bytes_up);
    line += fmt::format(", ratio {}, {} MB sent", significant(ratio, 3),
                        fixed(static_cast<double>(report.bytes_up) * 1e-6, 1));
  }
  line_.show(line);
}

}  // namespace gradwire::cli
