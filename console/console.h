// Where a command writes. Results go to out, and with --json they are one JSON document; progress,
// what was done and what failed go to err. Does not own the streams.
#pragma once

#include <iosfwd>

namespace gradwire::console {

struct Console {
  std::ostream& out;
  std::ostream& err;
  bool err_is_terminal = false;
};

}  // namespace gradwire::console
