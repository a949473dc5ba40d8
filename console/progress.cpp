#include "console/progress.h"

#include <fmt/format.h>

namespace gradwire::console {

void Progress::step(std::string_view what) {
  const std::size_t done = begun_++;
  if (line_.is_due()) line_.show(fmt::format("{}: {}% ({})", what_, 100 * done / steps_, what));
}

}  // namespace gradwire::console
