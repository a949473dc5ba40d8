// Console: the two streams that a command writes to. Results go to out; with --json they are one
// JSON document. Progress, notes and errors go to err. Does not own the streams.
#pragma once

#include <cstddef>
#include <iosfwd>

namespace gradwire::console {

struct Console {
  std::ostream& out;
  std::ostream& err;
  bool err_is_terminal = false;
  std::size_t columns = static_cast<std::size_t>(-1);  // that fit on a line of out
};

}  // namespace gradwire::console
