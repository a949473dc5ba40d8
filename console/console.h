// Console: the two streams that a command writes to. Results go to out; with --json they are one
// JSON document. Progress, notes and errors go to err. Does not own the streams.
#pragma once

#include <iosfwd>

namespace gradwire::console {

struct Console {
  std::ostream& out;
  std::ostream& err;
  bool err_is_terminal = false;
};

}  // namespace gradwire::console
