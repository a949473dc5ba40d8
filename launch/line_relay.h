// LineRelay: passes on what a process writes to a pipe, whole lines at a time, with a label in
// front of each. For one thread.
#pragma once

#include <string>

#include "launch/child_processes.h"

namespace gradwire::launch {

class LineRelay {
 public:
  // Reads from `source`, which it owns, and writes to the descriptor `target`. Without a label,
  // bytes are passed on at once and as they are.
  LineRelay(FileDescriptor source, int target, std::string label);

  // Negative once the source has ended.
  int descriptor() const { return source_.number(); }

  // Passes on all that there is now, without waiting. A target that is gone is ignored.
  void pass_on();
  // As pass_on(), and the end of an unfinished line.
  void finish();

 private:
  void write_lines(bool is_end);

  FileDescriptor source_;
  int target_;
  std::string label_;
  std::string text_;  // read and not yet written
};

}  // namespace gradwire::launch
